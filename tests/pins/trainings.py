"""Short trainings of every study's models, and what is fixed about them: losses, weights, names of weights, plans.

``python -m tests.pins.trainings`` writes ``pins.json`` anew, which is done only where a change of a number is meant, and
explained where it is made.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor
from torch_geometric.nn import GAT, GCN, GraphSAGE

from dropgnn import GIN, GINE, Bernoulli, DropGNN, Exhaustive, Graph
from dropgnn.data.datasets import load_dataset
from dropgnn.data.synthetic import task
from dropgnn.experiments import beyond_wl, brec_trained, graph_classification
from dropgnn.molecules import models
from dropgnn.nn import MPNN, Encoder, OneGNN
from dropgnn.training.seeds import stream
from tests.conftest import awkward_batch, random_batch
from tests.small_data import write_small_mutag

HERE = Path(__file__).parent / "pins.json"
STEPS = 3
Pin = dict[str, Any]


def trained(model: DropGNN, graph: Graph, y: Tensor | None = None) -> Pin:
    """Losses of a few steps in double precision, and what the weights are then."""
    model = model.double().train()
    graph = Graph.of(
        graph.x.double(), graph.edge_index, _double(graph.edge_attr), graph.batch, num_graphs=graph.num_graphs
    )
    generator, losses = torch.Generator().manual_seed(1), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(STEPS):
        torch.manual_seed(2)  # of dropout
        outcome = model(
            graph.x,
            graph.edge_index,
            graph.edge_attr,
            graph.batch,
            graph.num_graphs,
            generator=generator,
            return_outcome=True,
        )
        loss = outcome.prediction.tanh().square().mean()
        if outcome.auxiliary is not None:
            sizes = outcome.auxiliary.tanh().square().sum(dim=1)
            loss = loss + (outcome.weight * sizes).sum() / outcome.weight.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    weights = {name: [value.double().norm().item(), *value.shape] for name, value in model.state_dict().items()}
    return {"losses": losses, "weights": weights}


def _double(value: Tensor | None) -> Tensor | None:
    return None if value is None else value.double()


def synthetic() -> Iterator[tuple[str, Pin]]:
    """Table 1, the figures, and the studies of samplers, modes and aggregators."""
    settings: list[dict[str, Any]] = [{"method": method} for method in (*beyond_wl.METHODS, beyond_wl.BOTH)]
    settings += [{"mode": mode} for mode in ("remove", "edges", "receive-only")]
    settings += [{"aggregator": name} for name in ("sum", "max", "transform-sum")]
    settings += [{"aggr": name} for name in ("mean", "max")]
    settings += [{"sampler": name} for name in ("stratified", "exhaustive-1", "exhaustive-2")]
    for name in ("limits1", "four_cycles"):
        for setting in settings if name == "limits1" else [{"method": "random"}, {"method": "dropout"}]:
            # (Where no node of 4-cycles differs from others, batch norm leaves it to rounding which of them a ReLU passes.)
            trial = beyond_wl.Trial(
                **({"task": name, "method": "dropout", "seed": 0, "epochs": 1, "runs": None} | setting)
            )
            if trial.method not in ("dropout", beyond_wl.BOTH):
                trial = beyond_wl.Trial(task=name, method=trial.method, seed=0, epochs=1)
            drawn = task(name, 0, split="train")
            batch = beyond_wl._dataset(trial.method, drawn, 0, "train")
            batch = beyond_wl._augmentation(trial.method, beyond_wl.PRESETS[trial.preset])(batch, stream(0, "pin"))
            graph = Graph.of(batch.x, batch.edge_index, batch.edge_attr, batch.batch, num_graphs=batch.num_graphs)
            yield f"synthetic {name} {setting}", trained(beyond_wl.build(trial, drawn), graph)


def classification(root: Path) -> Iterator[tuple[str, Pin]]:
    """Table 2, on a small dataset."""
    dataset = load_dataset("MUTAG", data=root, download=False)
    batch = dataset.graphs.batch(range(12))
    graph = Graph.of(batch.x, batch.edge_index, None, batch.batch, num_graphs=12)
    for method in ("gin", "gcn", "sage"):
        for drops in ("none", "random", "exact"):
            torch.manual_seed(3)
            trial = graph_classification.Trial("MUTAG", method, drops, 0, hidden=16)
            model = graph_classification.build(trial, dataset)
            yield f"classification {method} {drops}", trained(model, graph)


def molecules() -> Iterator[tuple[str, Pin]]:
    """Table 3, on graphs that are no molecules."""
    for name in models.MODELS:
        for drops in ("none", "random", "exact"):
            torch.manual_seed(4)
            model = models.build(models.Settings(model=name, drops=drops), 5)
            assert isinstance(model.encoder, Encoder)
            width, edge_dim = model.encoder.in_channels, model.encoder.edge_dim
            graph = random_batch(5, edge_dim=edge_dim)
            wide = torch.nn.functional.pad(graph.x, (0, width - graph.x.size(1)))
            batch = Graph.of(wide, graph.edge_index, graph.edge_attr, graph.batch, num_graphs=2)
            yield f"molecules {name} {drops}", trained(model, batch)


def pairs() -> Iterator[tuple[str, Pin]]:
    """BREC."""
    for method in ("gin", "random-50", "exhaustive-2"):
        trial = brec_trained.Trained(0, method, layers=4, hidden=8)
        graph = random_batch(6)
        one = Graph.of(torch.ones(graph.num_nodes, 1), graph.edge_index, None, graph.batch, num_graphs=2)
        yield f"brec {method}", trained(brec_trained.build(trial, graph.num_nodes), one)


ENCODERS: dict[str, tuple[Callable[[], torch.nn.Module], int | None]] = {
    "GIN": (lambda: GIN(3, 4, 3, eps=0.5), None),
    "GINE": (lambda: GINE(3, 4, 3, edge_dim=2), 2),
    "1-GNN": (lambda: OneGNN(3, (4, 5), edge_dim=2, edge_hidden=6, skip=True), 2),
    "MPNN": (lambda: MPNN(3, 4, 2, edge_dim=2, edge_hidden=6), 2),
    "PyG's GCN": (lambda: GCN(3, 4, 2, norm="batch_norm", jk="cat"), None),
    "PyG's GraphSAGE": (lambda: GraphSAGE(3, 4, 2), None),
    "PyG's GAT": (lambda: GAT(3, 4, 2), None),
}


def outputs() -> Iterator[tuple[str, Pin]]:
    """Outputs and gradients of every encoder in every mode."""
    for name, (make, edge_dim) in ENCODERS.items():
        for mode in ("zero", "zero-layers", "remove", "edges", "receive-only"):
            for training in (False, True):
                torch.manual_seed(5)
                model = DropGNN(make(), Bernoulli(0.4, 6), mode=mode).double().train(training)
                graph = awkward_batch(edge_dim=edge_dim)
                runs = model.draw(graph, generator=torch.Generator().manual_seed(0))
                arguments = (graph.x, graph.edge_index, graph.edge_attr, graph.batch, graph.num_graphs)
                out = model(*arguments, runs=runs)
                out.sin().sum().backward()
                slopes = [0.0 if one.grad is None else one.grad.norm().item() for one in model.parameters()]
                yield f"outputs {name} {mode} {training}", {"rows": out.tolist(), "slopes": slopes}


def plans() -> Iterator[tuple[str, Pin]]:
    """Plans as integers; where they come from is fixed by the loops, not by the processor."""
    for mode in ("zero", "remove", "edges", "receive-only"):
        for name, sampler in {"random": Bernoulli(0.3, 8), "exact": Exhaustive(0.3, k=2)}.items():
            for edge_dim in (None, 2):
                torch.manual_seed(6)
                encoder = GIN(3, 4, 3) if edge_dim is None else GINE(3, 4, 3, edge_dim=2)
                model, graph = DropGNN(encoder, sampler, mode=mode).double(), awkward_batch(edge_dim=edge_dim)
                drawn = model.draw(graph, generator=torch.Generator().manual_seed(0))
                plan = model.plan_runs(graph, drawn)
                found = hashlib.sha256()
                for level in plan.levels:
                    for part in (level.own, level.edge_ptr, level.sender, level.edge, level.count, level.pairs.label):
                        found.update(part.long().numpy().tobytes())
                yield f"plan {mode} {name} {edge_dim}", {"states": plan.states, "sha256": found.hexdigest()}


def everything() -> dict[str, Pin]:
    """All pins by name."""
    with TemporaryDirectory() as folder:
        found = dict(classification(write_small_mutag(Path(folder))))
    for part in (synthetic(), molecules(), pairs(), outputs(), plans()):
        found |= dict(part)
    return found


def _rounded(value: Any) -> Any:
    """Twelve digits of every number."""
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return float(f"{value:.12g}") if isinstance(value, float) else value


if __name__ == "__main__":
    pinned = (f"{json.dumps(name)}: {json.dumps(_rounded(pin))}" for name, pin in everything().items())
    HERE.write_text("{\n" + ",\n".join(pinned) + "\n}\n", encoding="utf-8")
