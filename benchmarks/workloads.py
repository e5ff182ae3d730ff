"""What is measured: the same GIN on the same batches, plain, with all copies computed, and with equal rows shared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from dropgnn.data.files import read_graphs
from dropgnn.data.locate import find_tu
from dropgnn.data.synthetic import task
from dropgnn.nn import GIN, DropGNN, LayerReadout, Pooled
from dropgnn.runs.samplers import Bernoulli, Exhaustive, Sampler
from dropgnn.training.ahead import ahead
from dropgnn.training.loop import inputs
from dropgnn.training.seeds import seeded_weights

CONTESTANTS = ("plain", "batched", "shared")


@dataclass(frozen=True)
class Workload:
    """A dataset, a model and how it is trained."""

    name: str
    graphs: Callable[[], list[Data]]
    batch_size: int
    hidden: int
    layers: int
    exhaustive: bool = False

    def sampler(self, graphs: list[Data]) -> Sampler:
        """p = 2/(1 + m) and r = m, the rounded mean number of nodes; Skip-circles has r = 50."""
        m = sum(graph.num_nodes for graph in graphs) / len(graphs)
        p = 2.0 / (1.0 + m)
        if self.exhaustive:
            return Exhaustive(p, k=1)
        return Bernoulli(p, 50 if self.name.startswith("Skip") else round(m))


class PlainGIN(torch.nn.Module):
    """One run of the base GNN, as anyone would write it."""

    def __init__(self, encoder: GIN, classes: int) -> None:
        super().__init__()
        self.encoder, self.head = encoder, Pooled(LayerReadout(encoder.channels, classes))

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, num_graphs: int) -> Tensor:
        return self.head(self.encoder(x, edge_index), batch, num_graphs)


class Trainer:
    """One contestant on one workload."""

    def __init__(self, workload: Workload, contestant: str, steps: int) -> None:
        graphs = workload.graphs()
        order = torch.Generator().manual_seed(0)
        size = min(workload.batch_size, len(graphs))
        chosen = [torch.randperm(len(graphs), generator=order)[:size].tolist() for _ in range(steps)]
        self.batches = [Batch.from_data_list([graphs[index] for index in indices]) for indices in chosen]
        classes = int(max(int(graph.y.max()) for graph in graphs)) + 1
        with seeded_weights(0):
            gin = GIN(graphs[0].x.size(1), workload.hidden, workload.layers)
            if contestant == "plain":
                self.model: torch.nn.Module = PlainGIN(gin, classes)
            else:
                heads = [Pooled(LayerReadout(gin.channels, classes)) for _ in range(2)]
                self.model = DropGNN(
                    gin, workload.sampler(graphs), head=heads[0], auxiliary=heads[1], engine=contestant,
                    generator=torch.Generator().manual_seed(0),
                )  # fmt: skip
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01, fused=True)
        self.shares = contestant == "shared"

    def train(self) -> None:
        """Forward, backward and optimiser step on every batch; drawing and planning included.

        Every contestant has two threads: torch takes both, or one of them while the other plans the next batch.
        """
        torch.set_num_threads(1 if self.shares else 2)
        if isinstance(self.model, PlainGIN):
            for batch in self.batches:
                out = self.model(batch.x, batch.edge_index, batch.batch, batch.num_graphs)
                self._step(torch.nn.functional.cross_entropy(out, batch.y))
            return
        assert isinstance(self.model, DropGNN)
        ready = ahead(self.model, self.batches) if self.shares else ((batch, {}) for batch in self.batches)
        for batch, arguments in ready:
            self._step(self.model(*inputs(batch), return_outcome=True, **arguments).loss(batch.y))

    def _step(self, loss: Tensor) -> None:
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def workloads(data: Path | None) -> list[Workload]:
    """Every GIN workload, those on real data where there is some."""
    listed = [
        Workload("Skip-circles", _skip_circles, 10, 32, 9),
        Workload("Skip-circles, exhaustive", _skip_circles, 10, 32, 9, exhaustive=True),
    ]
    if data is None:
        return listed
    tu = {"MUTAG": 32, "PTC": 32, "PROTEINS": 32, "IMDB-B": 64, "IMDB-M": 64}
    listed += [Workload(name, partial(_tu, name, data), 32, hidden, 4) for name, hidden in tu.items()]
    listed.append(Workload("MUTAG, batch 128", partial(_tu, "MUTAG", data), 128, 32, 4))
    listed.append(Workload("MUTAG, batch 128, exhaustive", partial(_tu, "MUTAG", data), 128, 32, 4, exhaustive=True))
    return listed


def cubic(nodes: int) -> Data:
    """A random 3-regular graph. Loops and repeated edges, which are few, are kept: rejecting them takes long."""
    rng = np.random.default_rng(nodes)
    ends = rng.permutation(np.repeat(np.arange(nodes), 3)).reshape(-1, 2).T
    edges = torch.from_numpy(np.concatenate([ends, ends[::-1]], axis=1))
    return Data(x=torch.ones(nodes, 1), edge_index=edges, num_nodes=nodes)


def _skip_circles() -> list[Data]:
    graphs = list(task("skip_circles", 0).graphs)
    for graph in graphs:
        graph.edge_attr = None
    return graphs


def _tu(name: str, data: Path) -> list[Data]:
    """One-hot tags, or one-hot degrees for the social networks, of which the largest graphs are left out."""
    graphs = read_graphs(find_tu(name, data))
    social = name.startswith("IMDB")
    if social:
        graphs = [graph for graph in graphs if graph.num_nodes <= 70]
    for graph in graphs:
        graph.key = torch.bincount(graph.edge_index[1], minlength=graph.num_nodes) if social else graph.tag
    keys = torch.unique(torch.cat([graph.key for graph in graphs]))
    labels = torch.unique(torch.cat([graph.y for graph in graphs]))
    return [
        Data(
            x=torch.eye(len(keys))[torch.searchsorted(keys, graph.key)],
            edge_index=graph.edge_index,
            y=torch.searchsorted(labels, graph.y),
            num_nodes=graph.num_nodes,
        )
        for graph in graphs
    ]
