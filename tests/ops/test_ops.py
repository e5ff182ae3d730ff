"""Both versions of every operation have the same arguments, and give the same as a slow version on random arrays."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from dropgnn import Bernoulli, Exhaustive, Graph, compiling
from dropgnn.engine.incidence import Setting, Weights, alike_edges
from dropgnn.engine.plan import Pairs
from dropgnn.engine.planning import make_plan
from dropgnn.ops import numba_ops, ops_for, torch_ops
from dropgnn.runs.modes import MODES
from tests.conftest import awkward_batch, generator

STATES, EDGES, FEATURES = 9, 20, 3

Slow = Callable[..., Tensor | tuple[Tensor, ...]]


def rows(number: int = STATES, features: int = FEATURES, seed: int = 0) -> Tensor:
    return torch.randn(number, features, dtype=torch.float64, generator=generator(seed)).requires_grad_()


def below(number: int, size: int, seed: int = 1) -> Tensor:
    return torch.randint(number, (size,), generator=generator(seed), dtype=torch.int32)


OWN, SENDER, EDGE, KIND = below(STATES, 6), below(STATES, EDGES, 2), below(30, EDGES, 3), below(4, 30, 4)
EDGE_PTR = torch.tensor([0, 4, 4, 9, 15, 19, 20], dtype=torch.int32)
RECEIVER = torch.repeat_interleave(EDGE_PTR.diff())
ALONG = (OWN, EDGE_PTR, SENDER)


def batch() -> tuple[Graph, Any]:
    graph = awkward_batch(edge_dim=2)
    return graph, Exhaustive(0.2, k=2)(graph)


def pairs() -> tuple[list[tuple[Tensor, ...]], list[int], Any, Graph]:
    """The pairs of two levels, and how many states each has."""
    graph, runs = batch()
    levels = make_plan(graph, runs, MODES["remove"](), 2).levels[1:]
    return [level.pairs.tensors for level in levels], [level.num_states for level in levels], runs, graph


def slow_hear(x: Tensor, own: Tensor, edge_ptr: Tensor, sender: Tensor, factor: float, mean: bool) -> Tensor:
    found = []
    for state in range(own.numel()):
        heard = x[sender[edge_ptr[state] : edge_ptr[state + 1]].long()]
        total = heard.mean(dim=0) if mean and len(heard) else heard.sum(dim=0)
        found.append(factor * x[int(own[state])] + total)
    return torch.stack(found)


def slow_hear_edges(x: Tensor, features: Tensor, own: Tensor, edge_ptr: Tensor, sender: Tensor, edge: Tensor, kind: Tensor,
                    factor: float, mean: bool) -> Tensor:  # fmt: skip
    found = []
    for state in range(own.numel()):
        here = slice(int(edge_ptr[state]), int(edge_ptr[state + 1]))
        heard = (x[sender[here].long()] + features[kind[edge[here].long()].long()]).relu()
        total = heard.mean(dim=0) if mean and len(heard) else heard.sum(dim=0)
        found.append(factor * x[int(own[state])] + total)
    return torch.stack(found)


def slow_segments(reduce: Callable[[Tensor], Tensor]) -> Slow:
    def run(x: Tensor, number: int, ptr: Tensor, *_: Tensor) -> Tensor:
        out, first = [x.new_zeros(x.shape[1:])] * number, number - ptr.numel() + 1
        for row, (start, end) in enumerate(zip(ptr[:-1].tolist(), ptr[1:].tolist(), strict=True)):
            out[first + row] = reduce(x[start:end]) if end > start else x.new_zeros(x.shape[1:])
        return torch.stack(out)

    return run


def states_of_copies(one: tuple[Tensor, ...], runs: Any, graph: Graph) -> list[dict[int, int]]:
    """The states of the nodes of every copy."""
    base, ptr, node, label = (tensor.tolist() for tensor in one[:4])
    found = []
    for copy, owner in enumerate(runs.graph.tolist()):
        here = {number: base[number] for number in (graph.batch == owner).nonzero().flatten().tolist()}
        here |= {node[pair]: label[pair] for pair in range(ptr[copy], ptr[copy + 1])}
        found.append(here)
    return found


def slow_average(xs: Sequence[Tensor], given: Any, weight: Tensor) -> Tensor:
    runs, graph = pairs()[2:]
    slices = []
    for x, one in zip(xs, given, strict=True):
        total = [x.new_zeros(x.size(1)) for _ in range(graph.num_nodes)]
        for copy, states in enumerate(states_of_copies(one, runs, graph)):
            for node, state in states.items():
                total[node] = total[node] + weight[copy] * x[state] if state >= 0 else total[node]
        slices.append(torch.stack(total))
    return torch.cat(slices, dim=1)


def slow_pool(xs: Sequence[Tensor], given: Any, chosen: Tensor, *_: Any) -> tuple[Tensor, ...]:
    runs, graph = pairs()[2:]
    found: list[Tensor] = []
    for x, one in zip(xs, given, strict=True):
        copies = states_of_copies(one, runs, graph)
        present = [[state for state in copies[copy].values() if state >= 0] for copy in chosen.tolist()]
        found.append(torch.stack([x[states].sum(dim=0) for states in present]))
    return tuple(found)


def slow_projected(xs: Sequence[Tensor], heads: Any, *where: Any) -> tuple[Tensor, ...]:
    return tuple(
        torch.stack(slow_pool([x @ weight.t() for x, weight in zip(xs, head, strict=True)], *where)) for head in heads
    )


def slow_average_copies(pooled: Tensor, kind: Tensor, owner: Tensor, weight: Tensor, graphs: int) -> Tensor:
    every = pooled[:, kind.long()]
    means = [
        sum((weight[copy] * every[:, copy] for copy in (owner == graph).nonzero().flatten()), every[:, 0] * 0)
        / max(float(weight[owner == graph].sum()), 1e-300)
        for graph in range(graphs)
    ]
    return torch.stack(means, dim=1)


def slow_norm(x: Tensor, weight: Tensor, gain: Tensor, bias: Tensor, eps: float, relu: bool) -> tuple[Tensor, ...]:
    share = (weight / weight.sum()).unsqueeze(1)
    mean = (share * x).sum(dim=0)
    variance = (share * (x - mean).square()).sum(dim=0)
    out = (x - mean) / (variance + eps).sqrt() * gain + bias
    return out.relu() if relu else out, mean.detach(), variance.detach()


def two_levels() -> tuple[list[Tensor], list[tuple[Tensor, ...]], tuple[Any, ...], Tensor]:
    given, states, runs, graph = pairs()
    xs = [rows(number, 2 + level, seed=level) for level, number in enumerate(states)]
    chosen = torch.arange(0, runs.num_copies, 2, dtype=torch.int32)
    return xs, given, (chosen, runs.graph, graph.batch, graph.num_graphs), runs.weight


def differentiable() -> dict[str, tuple[Slow, list[tuple[Any, ...]]]]:
    xs, given, where, weight = two_levels()
    heads = [[rows(2, x.size(1), seed=5 + head) for x in xs] for head in range(2)]
    kind, owner = below(4, 7, 6), torch.tensor([0, 0, 0, 1, 1, 2, 2])
    gain = rows(1, seed=8)[0].detach().requires_grad_()
    counts = torch.rand(STATES, generator=generator(9), dtype=torch.float64)
    segments = (rows(EDGES), 8, EDGE_PTR)
    return {
        "combine": (
            lambda x, number, row, column, value: torch.zeros(number, x.size(0), dtype=x.dtype).index_put(
                (row.long(), column.long()), value, accumulate=True) @ x,
            [(rows(), 5, below(5, EDGES), below(STATES, EDGES, 7), rows(EDGES, 1)[:, 0].detach())],
        ),
        "hear": (slow_hear, [(rows(), *ALONG, factor, mean) for factor in (0.0, 1.5) for mean in (False, True)]),
        "hear_edges": (
            slow_hear_edges,
            [(rows(), rows(4, seed=3), *ALONG, EDGE, KIND, 1.5, mean) for mean in (False, True)],
        ),
        "take_rows": (lambda x, index: x[index.long()], [(rows(), SENDER), (rows().view(STATES, 1, FEATURES), SENDER)]),
        "sum_segments": (slow_segments(lambda x: x.sum(dim=0)), [(*segments, 2 + RECEIVER)]),
        "max_segments": (slow_segments(lambda x: x.amax(dim=0)), [segments]),
        "average": (slow_average, [(xs, given, weight)]),
        "pool": (slow_pool, [(xs, given, *where)]),
        "pool_projected": (slow_projected, [(xs, heads, given, *where)]),
        "average_copies": (
            slow_average_copies,
            [(torch.stack([rows(4, 2, seed=1), rows(4, 2, seed=2)]), kind, owner, counts[:7], 3)],
        ),
        "batch_norm": (slow_norm, [(rows(), counts, gain, rows(1, seed=7)[0], 1e-3, relu) for relu in (False, True)]),
    }  # fmt: skip


DIFFERENTIABLE = differentiable()
INTEGERS = (
    "colour_rows",
    "cut_pairs",
    "cut_states",
    "group",
    "kinds_of_copies",
    "list_dropped",
    "native",
    "refine",
    "weigh",
)


def leaves(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value] if value.requires_grad else []
    return [leaf for one in value for leaf in leaves(one)] if isinstance(value, (list, tuple)) else []


def observed(function: Slow, arguments: tuple[Any, ...]) -> list[Tensor]:
    """What comes out, and the gradients of what goes in."""
    out = function(*arguments)
    outs = out if isinstance(out, tuple) else (out,)
    wanted = [one for one in outs if one.requires_grad]
    total = sum((one * torch.linspace(-1, 2, one.numel(), dtype=one.dtype).view_as(one)).sum() for one in wanted)
    return [*outs, *torch.autograd.grad(total, leaves(arguments))]  # type: ignore[arg-type]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
@pytest.mark.parametrize("ops", [numba_ops, torch_ops], ids=["numba", "torch"])
def test_rows_and_gradients_are_those_of_the_slow_version(name: str, ops: ModuleType) -> None:
    slow, cases = DIFFERENTIABLE[name]
    for arguments in cases:
        for found, expected in zip(observed(getattr(ops, name), arguments), observed(slow, arguments), strict=True):
            torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)


def test_nothing_is_missing_on_either_side() -> None:
    assert numba_ops.__all__ == torch_ops.__all__ == sorted({*DIFFERENTIABLE, *INTEGERS})
    for name in DIFFERENTIABLE:
        assert inspect.signature(getattr(numba_ops, name)) == inspect.signature(getattr(torch_ops, name))
    for name in INTEGERS:
        numbers = {len(inspect.signature(getattr(ops, name)).parameters) for ops in (numba_ops, torch_ops)}
        assert len(numbers) == 1


def same_parts(one: Tensor, other: Tensor) -> bool:
    """Whether two labellings differ only in their numbers."""
    both = torch.stack([one.long(), other.long()]).unique(dim=1).size(1)
    return both == one.unique().numel() == other.unique().numel()


def listed(pairs: Pairs) -> tuple[Tensor, Tensor]:
    """The listed nodes of every copy in order, and their labels."""
    order = (pairs.copy * pairs.base.numel() + pairs.node).argsort()
    return pairs.node[order], pairs.label[order]


@pytest.mark.parametrize("mode", MODES)
def test_planning_finds_the_same_states(mode: str) -> None:
    graph = awkward_batch(edge_dim=2)
    runs = Bernoulli(0.3, r=4)(graph, items=MODES[mode].items, generator=generator())
    plans = [make_plan(graph, runs, MODES[mode](), 2, degrees=True, loops=ops) for ops in (numba_ops, torch_ops)]
    for one, other in zip(plans[0].levels, plans[1].levels, strict=True):
        for name in ("ptr", "rest"):
            torch.testing.assert_close(getattr(one.pairs, name), getattr(other.pairs, name))
        (node, label), (other_node, other_label) = map(listed, (one.pairs, other.pairs))
        assert torch.equal(node, other_node)
        assert same_parts(torch.cat([one.pairs.base, label]), torch.cat([other.pairs.base, other_label]))
        assert torch.equal(one.weight.sort().values.float(), other.weight.sort().values.float())
    settings = [Setting.of(graph, runs, MODES[mode](), alike_edges(graph, ops), ops) for ops in (numba_ops, torch_ops)]
    assert torch.equal(settings[0].edges.in_ptr, settings[1].edges.in_ptr)


def test_colours_groups_and_kinds() -> None:
    words = torch.randint(3, (40, 2), generator=generator())
    (one, first), (other, last) = numba_ops.colour_rows(words), torch_ops.colour_rows(words)
    assert same_parts(one, other)
    assert torch.equal(words[first.long()][one.long()], words)
    assert torch.equal(words[last.long()][other.long()], words)
    values = below(5, 30)
    assert all(map(torch.equal, numba_ops.group(values, 6), torch_ops.group(values, 6)))
    given, _, runs, graph = pairs()
    found = [ops.kinds_of_copies(given[1], runs.graph, graph.batch, graph.num_graphs) for ops in (numba_ops, torch_ops)]
    alike = [sorted(states.values()) for states in states_of_copies(given[1], runs, graph)]
    slow = torch.tensor([alike.index(states) for states in alike])
    for chosen, size, kind in found:
        assert same_parts(kind, slow)
        assert torch.equal(kind[chosen.long()].long(), torch.arange(chosen.numel()))
        assert size[kind.long()].tolist() == [sum(state >= 0 for state in states) for states in alike]
    weights = Weights.of(graph, runs)
    states = int(max(one.max() for one in given[0][:4:3])) + 1
    weighed = [ops.weigh(*given[0][:4], ops.native(weights), states) for ops in (numba_ops, torch_ops)]
    for one, other in zip(*weighed, strict=True):
        torch.testing.assert_close(one, other)


def test_the_choice_depends_on_sizes_and_kinds_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "SMALL", 256)
    single, half = torch.ones(2, 2), torch.ones(2, 2, dtype=torch.bfloat16)
    assert ops_for(single, 10_000) is numba_ops
    assert ops_for(single, 10) is torch_ops
    assert ops_for(half, 10_000) is torch_ops
    assert ops_for((single, single.double()), 10_000) is torch_ops
    assert ops_for((single, torch.arange(3)), 10_000) is numba_ops
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert ops_for(single, 10_000) is torch_ops
        assert ops_for(torch.arange(3), 10_000) is numba_ops
