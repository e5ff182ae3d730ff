"""Public callables with good arguments: what ``test_calls.py`` calls with wrong ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from dropgnn import (
    GIN,
    GINE,
    Bernoulli,
    DropGNN,
    DropGNNError,
    Exhaustive,
    Graph,
    InvalidArgument,
    RunPlan,
    Runs,
    Stratified,
    Unsupported,
)
from dropgnn.data.collection import Collection
from dropgnn.data.synthetic import task
from dropgnn.engine import ENGINES
from dropgnn.engine.parts import Parts
from dropgnn.engine.rules.rule import RULES
from dropgnn.model.aggregate import Collected, aggregator_by_name
from dropgnn.nn import (
    AGGREGATORS,
    MPNN,
    LayerReadout,
    Max,
    Mean,
    OneGNN,
    Outcome,
    Pooled,
    Set2SetReadout,
    Sum,
    TransformSum,
    WeightedBatchNorm,
    share_layer,
)
from dropgnn.runs.modes import MODES, DropEdges, Perturbed, ReceiveOnly, RemoveNodes, ZeroInputs, ZeroLayers
from dropgnn.runs.runs import Shares
from dropgnn.theory.distinguish import distinguish
from dropgnn.theory.views import Structure
from dropgnn.training.ahead import ahead
from dropgnn.training.batches import PlannedBatches
from tests.conftest import generator

X, ATTR = torch.arange(15.0).reshape(5, 3), torch.arange(16.0).reshape(8, 2)
EDGES = torch.tensor([[0, 1, 1, 2, 2, 0, 3, 4], [1, 0, 2, 1, 0, 2, 4, 3]])
BATCH = torch.tensor([0, 0, 0, 1, 1])
ROWS = torch.arange(55.0).reshape(5, 11) / 55


class Call(NamedTuple):
    """A public callable.

    Args:
        call: Calls it, and uses what comes back as a caller would.
        good: Arguments that work, made anew for every call.
        functions: Arguments that may be functions of the caller's, whose errors are the caller's too.
    """

    call: Callable[..., object]
    good: Callable[[], dict[str, Any]]
    functions: tuple[str, ...] = ()


def graph() -> Graph:
    return Graph.of(X, EDGES, None, BATCH, 2)


def written() -> Runs:
    return Runs.of([[(), (1,)], [(0,)]], [3, 2])


def data(number: int = 0) -> Data:
    edges = torch.tensor([[0, 1], [1, 0]])
    return Data(x=torch.ones(2, 3), edge_index=edges, y=torch.tensor([number]), num_nodes=2)


def structure() -> Structure:
    return Structure.of(EDGES.numpy(), 5)


def collection() -> Collection:
    return Collection.of([data(0), data(1), data(2)])


@cache
def model(sampler: Bernoulli | Exhaustive | None = None) -> DropGNN:
    torch.manual_seed(0)
    gin = GIN(3, 4, 2)
    heads = [Pooled(LayerReadout(gin.channels, 2)) for _ in range(2)]
    return DropGNN(gin, sampler or Bernoulli(0.2, 3), head=heads[0], auxiliary=heads[1], generator=generator())


EXACT = Exhaustive(0.2, k=1)
WIDTHS = {"in_channels": 3, "hidden_channels": 4}


def inputs() -> dict[str, Any]:
    return {"x": X, "edge_index": EDGES, "edge_attr": None, "batch": BATCH, "num_graphs": 2}


def embedded() -> Any:
    return ENGINES["batched"](GIN(3, 4, 2), ZeroInputs(), graph(), written())


def collected() -> Collected:
    return Collected(torch.ones(5, 11), torch.ones(5, dtype=torch.float64))


class Registered(torch.nn.Module):
    """A layer that is made known, and forgotten again."""


def registered(kind: Any, **arguments: Any) -> None:
    share_layer(kind, **arguments)
    del RULES[kind]


def planned(**arguments: Any) -> object:
    batches = {name: arguments.pop(name) for name in ("choices", "generator")}
    return list(PlannedBatches(**arguments)(**batches))


def taken(plan: Any, graphs: Any) -> object:
    return Parts(plan).take(graphs)


def aggregated(aggregator: Any, **arguments: Any) -> Tensor:
    whole = aggregator.merge(aggregator.collect(arguments["embedded"]), aggregator.collect(embedded()))
    return aggregator.finish(whole, torch.ones(5))


def sampled(kind: Any, graph: Any, items: Any, generator: Any, **arguments: Any) -> None:
    kind(**arguments)(graph, items=items, generator=generator).check()


def sampler(kind: Any, **arguments: Any) -> Call:
    def good() -> dict[str, Any]:
        return {"graph": graph(), "items": "nodes", "generator": generator(), **arguments}

    return Call(lambda **given: sampled(kind, **given), good, functions=("p", "r"))


def mode(kind: Any, items: int) -> Call:
    return Call(lambda **given: kind()(**given), lambda: {"graph": graph(), "dropped": torch.zeros(items) > 1})


def aggregator(kind: Any) -> Call:
    return Call(lambda **given: aggregated(kind(), **given), lambda: {"embedded": embedded()})


CALLS: dict[str, Call] = {
    "GIN": Call(lambda **a: GIN(**a)(X, EDGES), lambda: {**WIDTHS, "num_layers": 2, "aggr": "sum", "eps": 0.0}),
    "GIN call": Call(lambda **a: GIN(3, 4, 2)(**a), lambda: {"x": X, "edge_index": EDGES, "edge_attr": None}),
    "GINE": Call(lambda **a: GINE(**a)(X, EDGES, ATTR), lambda: {**WIDTHS, "num_layers": 2, "edge_dim": 2, "aggr": "mean"}),
    "GINE call": Call(lambda **a: GINE(3, 4, 2, edge_dim=2)(**a), lambda: {"x": X, "edge_index": EDGES, "edge_attr": ATTR}),
    "MPNN": Call(
        lambda **a: MPNN(**a)(X, EDGES, ATTR), lambda: {**WIDTHS, "rounds": 2, "edge_dim": 2, "edge_hidden": 5, "aggr": "sum"}
    ),
    "OneGNN": Call(
        lambda **a: OneGNN(**a)(X, EDGES, ATTR),
        lambda: {"in_channels": 3, "channels": (4, 5), "edge_dim": 2, "edge_hidden": 5, "aggr": "sum", "skip": True},
    ),
    "LayerReadout": Call(
        lambda **a: LayerReadout(**a)(ROWS), lambda: {"channels": (3, 4, 4), "out_channels": 2, "dropout": 0.5}
    ),
    "LayerReadout call": Call(lambda x: LayerReadout((3, 4, 4), 2)(x), lambda: {"x": ROWS}),
    "Pooled": Call(lambda **a: Pooled(**a)(ROWS, BATCH, 2), lambda: {"head": torch.nn.Linear(11, 2), "pool": "mean"}),
    "Pooled call": Call(
        lambda **a: Pooled(torch.nn.Linear(11, 2))(**a), lambda: {"x": ROWS, "batch": BATCH, "num_graphs": 2}
    ),
    "Set2SetReadout": Call(
        lambda **a: Set2SetReadout(**a)(ROWS, BATCH, 2),
        lambda: {"in_channels": 11, "head": torch.nn.Linear(22, 2), "steps": 2},
    ),
    "Set2SetReadout call": Call(
        lambda **a: Set2SetReadout(11, torch.nn.Linear(22, 2))(**a), lambda: {"x": ROWS, "batch": BATCH, "num_graphs": 2}
    ),
    "Mean": aggregator(Mean), "Sum": aggregator(Sum), "Max": aggregator(Max),
    "TransformSum": Call(
        lambda **a: aggregated(TransformSum(**a), embedded=embedded()), lambda: {"in_channels": 11, "out_channels": 4}
    ),
    "merge": Call(lambda **a: Mean().merge(**a), lambda: {"a": collected(), "b": collected()}),
    "finish": Call(lambda **a: Sum().finish(**a), lambda: {"collected": collected(), "r": torch.ones(5)}),
    "AGGREGATORS": Call(lambda name: AGGREGATORS[name], lambda: {"name": "mean"}),
    "aggregator_by_name": Call(
        lambda **a: aggregator_by_name(**a), lambda: {"name": "transform-sum", "encoder": GIN(3, 4, 2)}
    ),
    "Bernoulli": sampler(Bernoulli, p=0.2, r=3, budget=1_000),
    "Stratified": sampler(Stratified, p=0.2, r=3, budget=1_000),
    "Bernoulli of any size": sampler(Bernoulli, p=0.2, r=3),
    "Stratified of any size": sampler(Stratified, p=0.2, r=3),
    "Exhaustive": sampler(Exhaustive, p=0.2, k=2, scope="graph", hops=None, budget=1_000),
    "Exhaustive in neighborhoods": sampler(Exhaustive, p=0.2, k=2, scope="neighborhood", hops=2, budget=1_000),
    "MODES": Call(lambda name: MODES[name](), lambda: {"name": "zero"}),
    "ZeroInputs": mode(ZeroInputs, 5), "ZeroLayers": mode(ZeroLayers, 5), "RemoveNodes": mode(RemoveNodes, 5),
    "DropEdges": mode(DropEdges, 4), "ReceiveOnly": mode(ReceiveOnly, 5),
    "Perturbed": Call(lambda **a: Perturbed(**a), lambda: {"graph": graph(), "rows": BATCH, "silenced": None}),
    "Graph.of": Call(lambda **a: Graph.of(**a).items_per_graph("links"), inputs),
    "Graph": Call(lambda **a: Graph(**a).check(), inputs),
    "items_per_graph": Call(lambda items: graph().items_per_graph(items), lambda: {"items": "links"}),
    "Runs.of": Call(
        lambda **a: str(Runs.of(**a)),
        lambda: {"dropped": [[(), (1,)]], "items_per_graph": [3], "items": "nodes", "weight": [[0.5, 0.5]]},
    ),
    "Runs": Call(
        lambda **a: Runs(**a).check(),
        lambda: {name: getattr(written(), name) for name in Runs.__dataclass_fields__},
    ),
    "Shares": Call(
        lambda **a: Runs(**{**vars(EXACT(graph())), "shares": Shares(**a)}).check(),
        lambda: dict(vars(Exhaustive(0.2, 1, scope="neighborhood", hops=2)(graph()).shares)),
    ),
    "split": Call(lambda copies: list(written().split(copies)), lambda: {"copies": 1}),
    "of_graph": Call(lambda number: written().of_graph(number), lambda: {"number": 1}),
    "to": Call(lambda device: written().to(device), lambda: {"device": torch.device("cpu")}),
    "Collection.of": Call(lambda graphs: Collection.of(graphs).batch([0]), lambda: {"graphs": [data(), data(1)]}),
    "Collection": Call(
        lambda **a: Collection(**a).subset([0]),
        lambda: {name: getattr(collection(), name) for name in Collection.__dataclass_fields__},
    ),
    "batch": Call(lambda chosen: collection().batch(chosen), lambda: {"chosen": [2, 0]}),
    "subset": Call(lambda chosen: collection().subset(chosen), lambda: {"chosen": [2, 0]}),
    "ahead": Call(
        lambda **a: list(ahead(**a)),
        lambda: {"model": model(), "batches": [Batch.from_data_list([data()])], "generator": generator()},
    ),
    "PlannedBatches": Call(
        planned,
        lambda: {"model": model(EXACT), "graphs": collection(), "ahead": True, "choices": [[0, 1]], "generator": generator()},
    ),
    "Parts": Call(taken, lambda: {"plan": model(EXACT).plan(**inputs()), "graphs": [1]}),
    "task": Call(lambda **a: task(**a).batch(), lambda: {"name": "limits1", "seed": 0, "split": "test"}),
    "WeightedBatchNorm": Call(
        lambda **a: WeightedBatchNorm(**a)(ROWS), lambda: {"num_features": 11, "relu": True, "eps": 1e-5, "momentum": 0.1}
    ),
    "Outcome": Call(
        lambda **a: Outcome(**a).embedding,
        lambda: dict.fromkeys(("auxiliary", "owner", "weight")) | {"prediction": X, "embed": lambda: X, "runs": written()},
        functions=("embed",),
    ),
    "loss": Call(
        lambda **a: model()(**inputs(), return_outcome=True).loss(**a),
        lambda: {"target": BATCH[2:4], "mask": torch.tensor([True, False]), "auxiliary_share": 0.5},
    ),
    "DropGNN": Call(
        lambda **a: DropGNN(**a)(**inputs()),
        lambda: {
            "encoder": GIN(3, 4, 2), "sampler": Bernoulli(0.2, 3), "mode": "zero", "aggregator": "mean", "head": None,
            "auxiliary": None, "eval_sampler": None, "engine": "auto", "chunk": None, "pooled": False, "generator": generator(),
        },
    ),
    "DropGNN call": Call(
        lambda **a: model()(**a), lambda: {**inputs(), "runs": written(), "plan": None, "return_outcome": True}
    ),
    "draw": Call(lambda **a: model().draw(**a), lambda: {"graph": graph(), "generator": generator()}),
    "plan": Call(lambda **a: model().plan(**a), lambda: {**inputs(), "generator": generator()}),
    "plan_runs": Call(lambda **a: model().plan_runs(**a), lambda: {"graph": graph(), "runs": written()}),
    "DropGNN.planned": Call(
        lambda **a: DropGNN.planned(**a)(**inputs()),
        lambda: {"encoder": GIN(3, 4, 2), "graphs": [data()], "seed": 0, "hops": 2, "mode": "remove"},
    ),
    "RunPlan.of": Call(lambda **a: str(RunPlan.of(**a)), lambda: {"graphs": [data()], "hops": 2, "reduce": "max"}),
    "RunPlan": Call(
        lambda **a: str(RunPlan(**a)), lambda: {"hops": 2, "reduce": "mean", "gammas": (1, 2), "graphs": 1}
    ),
    "theorem2": Call(
        lambda **a: RunPlan.of(graph(), hops=2).theorem2(**a), lambda: {"delta": 0.1, "t": 100.0, "all_nodes": True}
    ),
    "Structure.of": Call(
        lambda **a: Structure.of(**a), lambda: {"edge_index": EDGES.numpy(), "num_nodes": 5, "colour": [0, 0, 1, 1, 1]}
    ),
    "share_layer": Call(registered, lambda: {"kind": Registered, "hops": 2, "degrees": True}),
    "Collection item": Call(lambda number: collection()[number], lambda: {"number": 1}),
    "distinguish": Call(
        lambda **a: str(distinguish(**a)),
        lambda: {"a": structure(), "b": structure(), "max_k": 1, "depth": 2, "mode": "zero"},
    ),
    **{
        kind.__name__: Call(lambda kind=kind, **a: str(kind(**a) if a else kind("text")), dict)
        for kind in (DropGNNError, Unsupported)
    },
    "InvalidArgument": Call(
        lambda **a: str(InvalidArgument(**a)), lambda: {"argument": "p", "rule": "must be", "got": 3, "hint": "try"}
    ),
}  # fmt: skip
