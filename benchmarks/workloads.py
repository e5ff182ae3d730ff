"""What is measured: the same GNN on the same batches, plain, with all copies computed, and with equal rows shared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch
from torch_geometric.data import Data

from benchmarks.graphs import molecules, skip_circles, tu, zinc
from benchmarks.models import MODELS, RESIDUAL, TUTORIAL, Bonds, Conv, Residual, Tutorial, features_of
from dropgnn.nn import GIN, MPNN, LayerReadout, OneGNN, Pooled, Set2SetReadout
from dropgnn.runs.samplers import Bernoulli, Exhaustive, Sampler

CONTESTANTS = ("plain", "batched", "shared")


@dataclass(frozen=True)
class Workload:
    """A dataset, a model and how it is trained.

    Args:
        name: What it is called in the table.
        graphs: Makes the dataset.
        batch_size: Graphs per step.
        encoder, head: Make the model for features and classes of the dataset; without a head the encoder pools and predicts.
        goal: At least this for batched / shared, at most this for shared / plain, where there is one.
        runs: Number of runs; by default the rounded mean number of nodes.
        exhaustive: All 1-dropouts instead of random runs; planned once for the dataset.
        steps: Training steps per measurement.
        plans_ahead: Whether, with two threads, one of them plans the next batch; else both compute.
        contestants: Who takes part.
        mode: What dropping does.
        auxiliary: Whether there is a second head, for single runs, as the paper has it.
    """

    name: str
    graphs: Callable[[], list[Data]]
    batch_size: int
    encoder: Callable[[Data], torch.nn.Module]
    head: Callable[[torch.nn.Module, int], torch.nn.Module] | None
    goal: tuple[float, float] | None
    runs: int | None = None
    exhaustive: bool = False
    steps: int = 10
    plans_ahead: bool = True
    contestants: tuple[str, ...] = CONTESTANTS
    mode: str = "zero"
    auxiliary: bool = True

    def sampler(self, graphs: Sequence[Data]) -> Sampler:
        """p = 2/(1 + m), where m is the mean number of nodes."""
        m = sum(graph.num_nodes for graph in graphs) / len(graphs)
        p = 2.0 / (1.0 + m)
        return Exhaustive(p, k=1) if self.exhaustive else Bernoulli(p, self.runs or round(m))


def workloads(data: Path | None) -> list[Workload]:
    """Every workload, those on real data where there is some."""
    listed = [
        Workload("Skip-circles", skip_circles, 10, _gin(32, 9), _readout, (2.5, 7), runs=50),
        Workload(
            "Skip-circles, exhaustive", skip_circles, 10, _gin(32, 9), _readout, (8, 2), exhaustive=True, plans_ahead=False,
        ),
    ]  # fmt: skip
    if data is not None:
        goals = {"PROTEINS": (3.0, 7.0)}
        for name in ("MUTAG", "PTC", "PROTEINS", "IMDB-B", "IMDB-M"):
            encoder, graphs = _gin(64 if name.startswith("IMDB") else 32, 4), partial(tu, name, data)
            listed.append(Workload(name, graphs, 32, encoder, _readout, goals.get(name, (3, 4))))
        mutag, encoder = partial(tu, "MUTAG", data), _gin(32, 4)
        listed.append(Workload("MUTAG, batch 128", mutag, 128, encoder, _readout, (3, 4)))
        listed.append(Workload("MUTAG, batch 128, exhaustive", mutag, 128, encoder, _readout, (8, 3), exhaustive=True))
    for shape, size in (("complete", 16), ("complete", 64), ("sparse", 16), ("sparse", 64)):
        complete = shape == "complete"
        graphs = partial(molecules, size, complete=complete)
        what = f"{shape} graphs, batch {size}"
        mpnn = Workload(f"MPNN, {what}", graphs, size, _mpnn, _set2set, (20, 1.2) if complete else None)
        if complete and size == 64:  # in all copies this would take four times the 6 GB of batch 16
            mpnn = replace(mpnn, contestants=("plain", "shared"))
        one_gnn = Workload(f"1-GNN, {what}", graphs, size, _one_gnn, _mean_pooled, (10, 2.5))
        listed += [replace(workload, steps=1, plans_ahead=False) for workload in (mpnn, one_gnn)]
    return listed + ([] if data is None else _own(data))


def _own(data: Path) -> list[Workload]:
    """Models as users write them."""
    mutag, molecular = partial(tu, "MUTAG", data), partial(zinc, data)
    listed = []
    for sampler in ("random", "exact"):
        exact = sampler == "exact"
        made: list[tuple[str, Callable[[Data], torch.nn.Module], str, float]] = [
            *(
                (f"own residual {name}", _residual(conv), "zero", 3.5 if exact else 5)
                for name, conv in RESIDUAL.items()
            ),
            *((name, _model(make), "zero", 3.5 if exact else 5) for name, make in MODELS.items()),
        ]
        if not exact:
            made += [
                (f"own residual {name}, remove", _residual(RESIDUAL[name]), "remove", 3.5)
                for name in ("GATv2Conv", "GraphConv")
            ]
        listed += [
            Workload(f"{name}, MUTAG 128, {sampler}", mutag, 128, encoder, _mean_linear, (1, goal), runs=18, exhaustive=exact,
                     steps=3, plans_ahead=False, mode=mode, auxiliary=False)
            for name, encoder, mode, goal in made
        ]  # fmt: skip
        listed += [
            Workload(f"tutorial, {name}, MUTAG 128, {sampler}", mutag, 128, _tutorial(conv, norms), None,
                     (1, 4 if exact else 5.5), runs=18, exhaustive=exact, steps=3, plans_ahead=False, auxiliary=False)
            for name, (conv, norms) in TUTORIAL.items()
        ]  # fmt: skip
        listed.append(
            Workload(f"own GINE, ZINC 128, {sampler}", molecular, 128, _bonds, _mean_linear, (1, 5 if exact else 4.5),
                     runs=18, exhaustive=exact, steps=3, plans_ahead=False, auxiliary=False)
        )  # fmt: skip
    return listed


def _residual(conv: Conv) -> Callable[[Data], torch.nn.Module]:
    return lambda graph: Residual(features_of(graph), conv)


def _model(make: Callable[[int], torch.nn.Module]) -> Callable[[Data], torch.nn.Module]:
    return lambda graph: make(features_of(graph))


def _tutorial(conv: Conv, norms: bool) -> Callable[[Data], torch.nn.Module]:
    return lambda graph: Tutorial(features_of(graph), 2, conv, norms=norms)


def _bonds(graph: Data) -> torch.nn.Module:
    return Bonds(features_of(graph), graph.edge_attr.size(1))


def _mean_linear(encoder: torch.nn.Module, outputs: int) -> torch.nn.Module:
    return Pooled(torch.nn.Linear(32, outputs), pool="mean")


def _gin(hidden: int, layers: int) -> Callable[[Data], torch.nn.Module]:
    return lambda graph: GIN(graph.x.size(1), hidden, layers)


def _mpnn(graph: Data) -> torch.nn.Module:
    return MPNN(graph.x.size(1), edge_dim=graph.edge_attr.size(1))


def _one_gnn(graph: Data) -> torch.nn.Module:
    return OneGNN(graph.x.size(1), edge_dim=graph.edge_attr.size(1))


def _readout(encoder: torch.nn.Module, outputs: int) -> torch.nn.Module:
    assert isinstance(encoder, GIN)
    return Pooled(LayerReadout(encoder.channels, outputs))


def _set2set(encoder: torch.nn.Module, outputs: int) -> torch.nn.Module:
    assert isinstance(encoder, MPNN)
    width = encoder.out_channels
    mlp = (torch.nn.Linear(2 * width, width), torch.nn.ReLU(), torch.nn.Linear(width, outputs))
    return Set2SetReadout(width, torch.nn.Sequential(*mlp))


def _mean_pooled(encoder: torch.nn.Module, outputs: int) -> torch.nn.Module:
    assert isinstance(encoder, OneGNN)
    mlp = [torch.nn.Linear(encoder.out_channels, 32), torch.nn.ELU(), torch.nn.Linear(32, 16), torch.nn.ELU()]
    return Pooled(torch.nn.Sequential(*mlp, torch.nn.Linear(16, outputs)), pool="mean")
