"""Property assertions, for our tests and for yours: engines agree, node order and batch mates do not matter; and peak memory.

Every assertion draws its runs once and compares in the dtype of the model; use float64 for tight tolerances.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from dropgnn.engine.rules.check import difference
from dropgnn.graph import Graph, offsets
from dropgnn.model.dropgnn import DropGNN
from dropgnn.model.outcome import Outcome
from dropgnn.runs.runs import Runs

TOLERANCE = 1e-9


def assert_engines_agree(
    model: DropGNN,
    graph: Graph,
    *,
    generator: torch.Generator,
    engines: Sequence[str] | None = None,
    inputs: bool = True,
    tolerance: float = TOLERANCE,
) -> None:
    """All engines give the same predictions, gradients and running statistics for the same runs.

    Without ``engines`` all are compared, with ``auto`` in the place of ``shared``. With ``inputs`` that includes the gradients
    of x and edge_attr, for which an engine must keep equal nodes apart.
    """
    if engines is None:
        engines = ["reference", "batched", "auto"]
    runs = model.draw(graph, generator=generator)
    seed = generator.initial_seed()
    expected = _observe(model, engines[0], graph, runs, seed, inputs)
    for engine in engines[1:]:
        observed = _observe(model, engine, graph, runs, seed, inputs)
        for name, value in expected.items():
            _assert_close(observed[name], value, f"{name}: {engine} against {engines[0]}", tolerance)


def assert_node_order_irrelevant(
    model: DropGNN, graph: Graph, *, generator: torch.Generator, tolerance: float = TOLERANCE
) -> None:
    """Nodes permuted inside their graphs, and their runs along with them, give the same predictions permuted."""
    runs = model.draw(graph, generator=generator)
    order = _shuffle_within(graph.batch, generator)
    expected, observed = _call(model, graph, runs), _call(model, *permute(graph, runs, order))
    target = expected.prediction if model.predicts_graphs else expected.prediction[order]
    _assert_close(observed.prediction, target, "prediction after permuting the nodes", tolerance)


def assert_batch_mates_irrelevant(
    model: DropGNN, graph: Graph, *, generator: torch.Generator, tolerance: float = TOLERANCE
) -> None:
    """In evaluation mode each graph gets the prediction alone that it gets in company, for the same runs."""
    runs = model.draw(graph, generator=generator)
    together = _call(model, graph, runs).prediction
    for number in range(graph.num_graphs):
        nodes = graph.batch == number
        alone = _call(model, *_single(graph, runs, number)).prediction
        mine = together[number : number + 1] if model.predicts_graphs else together[nodes]
        _assert_close(alone, mine, f"prediction for graph {number} by itself", tolerance)


def assert_layer_looks_only_at_its_edges(
    layer: torch.nn.Module,
    call: Callable[..., Tensor] = lambda layer, x, edge_index, edge_attr: layer(x, edge_index),
    *,
    hops: int = 1,
    degrees: bool = False,
) -> None:
    """A layer gives the same where equal rows are computed once: what :func:`dropgnn.nn.share_layer` says of it is true.

    Args:
        layer: A layer for three features per node, on random graphs with loops, nodes alone and equal features.
        call: ``(layer, x, edge_index, edge_attr) -> rows``, edge_attr with three features; by default without them.
        hops, degrees: As for ``share_layer``.
    """
    found = difference(layer, call, rounds=hops + degrees)
    if found is not None:
        raise AssertionError(f"{type(layer).__name__} {found}")


def permute(graph: Graph, runs: Runs, order: Tensor) -> tuple[Graph, Runs]:
    """Graph and runs with node ``order[i]`` moved to place i; nodes must stay in their graphs."""
    place = order.argsort()
    moved = replace(graph, x=graph.x[order], edge_index=place[graph.edge_index])
    item_place = place
    if runs.items == "links":  # the edges keep their order, so each tells where its link has gone
        item_place = torch.empty(int(runs.items_per_graph.sum()), dtype=torch.long, device=place.device)
        item_place[graph.links.of_edge] = moved.links.of_edge
    start = offsets(runs.items_per_graph)[runs.graph[runs.dropped[0]]]
    item = item_place[runs.dropped[1] + start] - start
    in_order = (runs.dropped[0] * max(item_place.numel(), 1) + item).argsort()
    dropped = torch.stack([runs.dropped[0], item])[:, in_order]
    shares = runs.shares
    if shares is not None:
        by_place = (place[shares.node] * runs.num_copies + shares.copy).argsort()
        shares = replace(
            shares, node=place[shares.node][by_place], copy=shares.copy[by_place], weight=shares.weight[by_place]
        )
    return moved, replace(runs, dropped=dropped, shares=shares)


def _observe(model: DropGNN, engine: str, graph: Graph, runs: Runs, seed: int, inputs: bool) -> dict[str, Tensor]:
    """Everything an engine can get wrong: predictions, gradients of weights and inputs, running statistics."""
    model = copy.deepcopy(model)
    model.engine = engine
    if inputs:
        graph = replace(graph, x=graph.x.clone().requires_grad_(graph.x.is_floating_point()))
    if inputs and graph.edge_attr is not None:
        graph = replace(graph, edge_attr=graph.edge_attr.clone().requires_grad_(True))
    outcome = _call(model, graph, runs)
    _scalar(outcome, seed).backward()
    seen = {"prediction": outcome.prediction.detach(), "single runs": _single_runs(outcome).detach()}
    given = (("gradient of x", graph.x), ("gradient of edge_attr", graph.edge_attr))
    weights = ((f"gradient of {name}", weight) for name, weight in model.named_parameters())
    for name, tensor in (*given, *weights):
        if tensor is not None and tensor.requires_grad:
            seen[name] = torch.zeros_like(tensor) if tensor.grad is None else tensor.grad
    return seen | {f"buffer {name}": buffer for name, buffer in model.named_buffers()}


def _scalar(outcome: Outcome, seed: int) -> Tensor:
    """A random linear function of all predictions, so that no gradient vanishes by symmetry."""
    generator = torch.Generator().manual_seed(seed)
    total = outcome.prediction.new_zeros(())
    for value in (outcome.prediction, _single_runs(outcome)):
        direction = torch.randn(value.shape, generator=generator, dtype=torch.float64)
        total = total + (value * direction.to(value)).sum()
    return total


def _single_runs(outcome: Outcome) -> Tensor:
    """What can be said of auxiliary predictions whether or not equal ones are listed once: two weighted sums."""
    if outcome.auxiliary is None or outcome.owner is None or outcome.weight is None:
        return outcome.prediction.new_zeros(0)
    both = torch.cat([outcome.auxiliary, outcome.auxiliary.sin()], dim=1) * outcome.weight.to(
        outcome.auxiliary
    ).unsqueeze(1)
    return both.new_zeros(outcome.prediction.size(0), both.size(1)).index_add(0, outcome.owner, both)


def _call(model: DropGNN, graph: Graph, runs: Runs) -> Outcome:
    return model(
        graph.x, graph.edge_index, graph.edge_attr, graph.batch, graph.num_graphs, runs=runs, return_outcome=True
    )


def _single(graph: Graph, runs: Runs, number: int) -> tuple[Graph, Runs]:
    """One graph of a batch and its runs by themselves."""
    nodes, edges = graph.batch == number, graph.batch[graph.edge_index[0]] == number
    first = int((graph.batch < number).sum())
    attr = None if graph.edge_attr is None else graph.edge_attr[edges]
    alone = Graph.of(graph.x[nodes], graph.edge_index[:, edges] - first, attr)
    return alone, runs.of_graph(number)


def _shuffle_within(batch: Tensor, generator: torch.Generator) -> Tensor:
    """A random order that keeps every node in its graph."""
    noise = torch.rand(batch.numel(), generator=generator, dtype=torch.float64).to(batch.device)
    return (batch.double() * 2 + noise).argsort()


def _assert_close(observed: Tensor, expected: Tensor, what: str, tolerance: float) -> None:
    torch.testing.assert_close(
        observed, expected, rtol=tolerance, atol=tolerance, msg=lambda text: f"{what} differs\n{text}"
    )


def peak_megabytes(work: Callable[[], object]) -> float:
    """How far the memory of this process rises above what it had (Linux)."""

    def status(field: str) -> int:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(field))

    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forget the peak so far
    before = status("VmRSS")
    work()
    return (status("VmHWM") - before) / 1024
