"""BREC by its own protocol: per pair a fresh model, contrastive training, Hotelling's test on relabelled copies.

A pair counts as separated where the embeddings of its two graphs differ by more than relabelling the nodes makes them
differ, and as reliable where the same test does not separate a graph from itself (Wang and Zhang, ICML 2024).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import torch
from scipy.stats import f as f_distribution
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.nn import global_mean_pool

from dropgnn.data.brec import RELABELLED, load_brec_once
from dropgnn.nn import GIN, DropGNN
from dropgnn.registry import Registry
from dropgnn.runs.samplers import Bernoulli, Exhaustive, Sampler
from dropgnn.theory.enumerate import count_dropouts
from dropgnn.training.loop import inputs
from dropgnn.training.seeds import seeded_weights, stream

EXPERIMENT = "brec-trained-2"  # 2: random runs train on some of the relabelled copies per step
WIDTH = 16
RIDGE = 1e-7
"""Added to the covariance: an exactly invariant model has none, and a pseudo-inverse would turn its proof into a zero."""

SMALLEST = 1e-5
"""Differences between pooled graphs below this are not made larger: far above rounding, in double precision."""

MOST_ROWS = 600_000
"""Dropouts of two nodes are enumerated where all copies of a graph have no more nodes than this, else of one node."""

COPIES_PER_STEP = 8
"""Of each graph, where runs are random."""

METHODS = Registry[Callable[[int], Sampler]](
    "method",
    {
        "gin": lambda nodes: Exhaustive(0.0, k=0),
        "random-50": lambda nodes: Bernoulli(1 / nodes, 50),
        "random-100": lambda nodes: Bernoulli(1 / nodes, 100),
        # With p = 1/2 all dropped sets of a graph count alike.
        "exhaustive-1": lambda nodes: Exhaustive(0.5, k=1),
        "exhaustive-2": lambda nodes: Exhaustive(0.5, k=largest_k(nodes)),
    },
)


@dataclass(frozen=True)
class Trained:
    """One model for one pair."""

    pair: int
    method: str
    seed: int = 0
    epochs: int = 5
    layers: int = 16
    hidden: int = 64


class ProfileHead(torch.nn.Module):
    """What a node saw over all runs becomes a feature before nodes are added up: between two means it would be lost.

    Norms bring differences to size that are small in a mean over many copies.
    """

    def __init__(self, in_channels: int, hidden: int = 64) -> None:
        super().__init__()
        self.of_node = _normed(in_channels, hidden, torch.nn.Tanh())
        self.of_graph = _normed(hidden, WIDTH)

    def forward(self, x: Tensor, batch: Tensor, num_graphs: int) -> Tensor:
        return self.of_graph(global_mean_pool(self.of_node(x), batch, num_graphs))


def _normed(width: int, out: int, *behind: torch.nn.Module) -> torch.nn.Sequential:
    return torch.nn.Sequential(torch.nn.BatchNorm1d(width, eps=SMALLEST**2), torch.nn.Linear(width, out), *behind)


def threshold(copies: int = RELABELLED, width: int = WIDTH) -> float:
    """What Hotelling's T² exceeds by chance once in twenty times.

    >>> round(threshold(), 2)
    72.34
    """
    return (copies - 1) * width / (copies - width) * float(f_distribution.ppf(0.95, width, copies - width))


def hotelling(a: Tensor, b: Tensor) -> float:
    """T² of the paired differences of embeddings, ``[copies, width]`` each."""
    difference = (a - b).double()
    mean, copies = difference.mean(dim=0), difference.size(0)
    centred = difference - mean
    covariance = centred.t() @ centred / (copies - 1) + RIDGE * torch.eye(mean.numel(), dtype=torch.float64)
    return float(copies * mean @ torch.linalg.solve(covariance, mean))


def largest_k(nodes: int) -> int:
    return 2 if nodes * count_dropouts(nodes, 2) <= MOST_ROWS else 1


def run(
    trial: Trained, on_epoch: Callable[[int, float], None] | None = None, *, data: Path | None = None
) -> dict[str, Any]:
    """Train on the pair, then test."""
    started, pair = time.perf_counter(), load_brec_once(data)[trial.pair]
    rng = np.random.default_rng([trial.seed, trial.pair])
    graphs = [[relabelled(graph, rng) for _ in range(RELABELLED)] for graph in (pair.a, pair.b, pair.a)]
    model = build(trial, pair.a.number_of_nodes())
    runs = stream(trial.seed, f"runs of pair {trial.pair}")
    loss = _train(model, graphs[:2], trial, runs, on_epoch)
    a, b, again = _embed(model, graphs, runs)
    found, control = hotelling(a, b), hotelling(a, again)
    return {
        "kind": pair.kind,
        "nodes": pair.a.number_of_nodes(),
        "k": largest_k(pair.a.number_of_nodes()) if trial.method == "exhaustive-2" else None,
        "t2": found,
        "control": control,
        "separated": found > threshold(),
        "reliable": control < threshold(),
        "loss": loss,
        "seconds": time.perf_counter() - started,
    }


def build(trial: Trained, nodes: int) -> DropGNN:
    """GIN with dropouts and a head that gives 16 numbers; in double precision."""
    with seeded_weights(trial.seed):
        gin = GIN(1, trial.hidden, trial.layers)
        model = DropGNN(gin, METHODS[trial.method](nodes), head=ProfileHead(gin.out_channels)).double()
    return model


def _train(
    model: DropGNN,
    graphs: Sequence[Sequence[Data]],
    trial: Trained,
    generator: torch.Generator,
    on_epoch: Callable[[int, float], None] | None,
) -> float:
    """Push the two embeddings apart. Runs that are not random see no difference between copies: one of each will do."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-4)
    copies = COPIES_PER_STEP if model.sampler.random else 1
    runs: dict[str, Any] = {"generator": generator}
    value = math.nan
    model.train()
    for epoch in range(1, trial.epochs + 1):
        first = (epoch - 1) * copies % RELABELLED if model.sampler.random else 0
        batch = Batch.from_data_list([copy for each in graphs for copy in each[first : first + copies]])
        if not model.sampler.random and "plan" not in runs:
            runs = {"plan": model.plan(*inputs(batch))}
        a, b = model(*inputs(batch), **runs).chunk(2)
        loss = torch.nn.functional.cosine_embedding_loss(a, b, -a.new_ones(len(a)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        value = loss.item()
        if on_epoch is not None:
            on_epoch(epoch, value)
    return value


@torch.no_grad()
def _embed(model: DropGNN, graphs: Sequence[Sequence[Data]], generator: torch.Generator) -> tuple[Tensor, ...]:
    """The embeddings of each list of copies, ``[copies, width]``; those to be compared with each other in one batch.

    There the engine computes what they have in common once, and norms take the statistics of these very graphs: with those
    of other graphs a deep GNN blows up rounding, layer by layer, into differences that are none.
    """
    model.train()
    batches = (Batch.from_data_list(list(together)) for together in zip(*graphs, strict=True))
    return torch.stack([model(*inputs(batch), generator=generator) for batch in batches]).unbind(dim=1)


def relabelled(graph: nx.Graph, rng: np.random.Generator) -> Data:
    """The graph with its nodes in another order, all with the same feature."""
    nodes = graph.number_of_nodes()
    edges = torch.from_numpy(rng.permutation(nodes)[np.array(graph.edges(), np.int64).reshape(-1, 2)].T.copy())
    both = torch.cat([edges, edges.flip(0)], dim=1)
    return Data(x=torch.ones(nodes, 1, dtype=torch.float64), edge_index=both, num_nodes=nodes)
