"""The engine that runs an encoder's own ``forward`` on distinct rows."""

from __future__ import annotations

import copy
import random
from collections import OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.checkpoint import _StopRecomputationError

import dropgnn.engine.functions
import dropgnn.engine.rules.layers
import dropgnn.engine.rules.pyg_layers  # noqa: F401  (functions and rules register themselves)
from dropgnn.engine.batched import as_rows, batched, check_rows
from dropgnn.engine.edge_features import kinds_of
from dropgnn.engine.embedded import Embedded
from dropgnn.engine.handles import batch_of, edge_index_of
from dropgnn.engine.intercept import GLOBAL_HOOKS
from dropgnn.engine.plan import SharedPlan, TooShallow
from dropgnn.engine.planning import make_plan
from dropgnn.engine.rows import Block, CannotShare, Rows, rows_of
from dropgnn.engine.rules.rule import rule_of
from dropgnn.engine.shared_rows import SharedRows
from dropgnn.engine.spaces import Sharing
from dropgnn.engine.weighing import weighing
from dropgnn.engine.whole import call_with, given_to
from dropgnn.errors import InvalidArgument, Unsupported
from dropgnn.graph import Graph
from dropgnn.runs.modes import Mode
from dropgnn.runs.runs import Runs


def plan_for(encoder: torch.nn.Module, mode: Mode, graph: Graph, runs: Runs, depth: int = 0) -> SharedPlan:
    """A plan for a batch, for so many layers at first; it grows where the forward asks for more."""
    with torch.inference_mode(False):  # it may be needed for training later
        return make_plan(graph, runs, mode, depth, degrees=reads_degrees(encoder))


def obstacle_to_rows(encoder: torch.nn.Module, mode: Mode) -> str | None:
    """Why nothing of the encoder can be run on distinct rows, or ``None``."""
    effect = mode.shared_effect
    if effect is None:
        return f"mode {mode!r} does not declare its effect"
    if effect.zero_when_read:
        return f"mode {mode!r} zeroes rows between layers, and {type(encoder).__name__} does not come apart into layers"
    if any(GLOBAL_HOOKS):
        return "there are hooks on all modules, which want to see every copy"
    if isinstance(encoder, torch.jit.ScriptModule) or hasattr(encoder, "_orig_mod"):
        return f"{type(encoder).__name__} is compiled, and runs as it was compiled"
    return None


def depth_of(encoder: torch.nn.Module, mode: Mode, graph: Graph, runs: Runs, *, pooled: bool) -> int:
    """How many layers of states a forward asks for, found out by one on a copy of the encoder that leaves no trace."""
    devices = [graph.x.device] if graph.x.is_cuda else []
    with torch.no_grad(), torch.random.fork_rng(devices=devices):
        _, sharing = share(copy.deepcopy(encoder), mode, graph, runs, pooled=pooled)
    return sharing.depth


def reads_degrees(encoder: torch.nn.Module) -> bool:
    """Whether a layer of the encoder looks at the degrees of those it hears."""
    rules = ((module, rule_of(module)) for module in encoder.modules())
    return any(rule is not None and rule.degrees(module) for module, rule in rules)


def share(
    encoder: torch.nn.Module,
    mode: Mode,
    graph: Graph,
    runs: Runs,
    *,
    pooled: bool = False,
    plan: SharedPlan | None = None,
    trace: bool = False,
    strict: bool = False,
) -> tuple[Embedded, Sharing]:
    """Run ``encoder`` on distinct rows as far as they go; arguments as for ``batched``.

    Args:
        plan: For the same encoder, mode, graph and runs; made here where not given.
        trace: Whether to find out where in the forward sharing ends.
        strict: Whether to refuse where it ends before the forward does.
    """
    given = plan
    with _as_before(encoder, graph) as restore:
        for _ in range(2):
            sharing = Sharing(plan_for(encoder, mode, graph, runs) if given is None else given, trace=trace)
            try:
                with weighing(runs, lambda made=sharing: made.copies.graph):  # type: ignore[misc]
                    out = _run(encoder, sharing)
                if not (strict and sharing.ended):
                    return _embedded(out, sharing, pooled=pooled), sharing
                break
            except TooShallow:  # made for fewer layers
                given = None
            except CannotShare as problem:
                sharing.end(str(problem))
                break
            except _StopRecomputationError:  # a checkpoint has what it wanted
                raise
            except Exception as problem:  # whatever it is, it may be of our making: the definition decides
                sharing.end(f"{type(problem).__name__}: {problem}")
                break
            restore()
        restore()
    if strict:
        raise Unsupported(f"engine 'shared' would not be exact: {sharing.ended[0]}; use engine='auto' or 'batched'")
    return batched(encoder, mode, graph, runs, pooled=pooled), sharing


@contextmanager
def _as_before(encoder: torch.nn.Module, graph: Graph) -> Iterator[Any]:
    """A function that puts back what a forward may have changed: attributes, buffers and randomness."""
    modules = list(encoder.modules())
    kept = [(module, {name: _held(value) for name, value in vars(module).items()}) for module in modules]
    values = [(one, one.clone()) for module in modules for one in module._buffers.values() if one is not None]
    versions = [(one, one._version) for one in encoder.parameters() if not one.is_inference()]
    sources = [value for module in modules for value in vars(module).values() if isinstance(value, torch.Generator)]
    states = [(source, source.get_state()) for source in sources]
    state, others = torch.get_rng_state(), (random.getstate(), np.random.get_state())
    on_gpu = torch.cuda.get_rng_state(graph.x.device) if graph.x.is_cuda else None

    def restore() -> None:
        for module, attributes in kept:
            for name in vars(module).keys() - attributes.keys():
                del vars(module)[name]
            vars(module).update({name: _held(value) for name, value in attributes.items()})
        with torch.no_grad():
            for buffer, value in values:
                buffer.copy_(value)
        for source, before in states:
            source.set_state(before)
        torch.set_rng_state(state)
        random.setstate(others[0])
        np.random.set_state(others[1])
        if on_gpu is not None:
            torch.cuda.set_rng_state(on_gpu, graph.x.device)
        if any(one._version != version for one, version in versions):
            raise Unsupported(
                f"{type(encoder).__name__}.forward writes on its parameters and cannot be run on distinct rows; use "
                "engine='batched'"
            )

    yield restore


def _held(value: Any) -> Any:
    """A value as it is now: lists and dictionaries may be appended to."""
    return copy.copy(value) if type(value) in (list, dict, set, OrderedDict, deque) else value


def _run(encoder: torch.nn.Module, sharing: Sharing) -> Tensor:
    """The encoder's forward on distinct rows, and the inputs that it names."""
    graph, source, features = sharing.graph, sharing.plan.source, sharing.features
    if sharing.plan.effect.first == "zero":
        sharing.mode.check(graph.x)
    x = torch.cat([features.x, features.x.new_zeros(1, features.x.size(1))])[source.clamp(min=-1)]
    more: dict[str, Any] = {}
    for one in features.extra:
        if one.of_edges:
            more[one.name] = _rows_of_edges(one.value, sharing)
        else:
            node = torch.where(source < 0, -1 - source, source).long()
            more[one.name] = rows_of([Block(one.value[node], 0)], sharing.nodes)
    attr = None if features.edge_attr is None else _rows_of_edges(features.edge_attr, sharing)
    handles = replace(graph, edge_attr=attr, batch=batch_of(sharing), num_graphs=sharing.runs.num_copies)
    rows, edges = rows_of([Block(x, 0)], sharing.nodes), edge_index_of(sharing)
    return call_with(encoder, rows, edges, given_to(encoder, handles, more))


def _rows_of_edges(value: Tensor, sharing: Sharing) -> Rows:
    return rows_of([Block(value[kinds_of(sharing.plan).edge.long()], 0)], sharing.edges)


def _embedded(out: object, sharing: Sharing, *, pooled: bool) -> Embedded:
    """What came out, for aggregators and heads."""
    if not isinstance(out, Tensor) or out.dim() != 2:
        got = tuple(out.shape) if isinstance(out, Tensor) else type(out).__name__
        raise InvalidArgument("encoder", "must return a matrix of rows", got=got)
    runs, graph = sharing.runs, sharing.graph
    check_rows(out.size(0), runs.num_copies if pooled else sharing.nodes.num_rows, pooled)
    if isinstance(out, Rows) and out.space is sharing.nodes and not out.was_touched and not pooled:
        return SharedRows(out, sharing)
    if isinstance(out, Rows):
        out = out.full()
    if pooled:
        return as_rows(out, runs.graph, torch.arange(runs.num_copies, device=out.device), graph, runs, pooled)
    return as_rows(out, sharing.copies.node, sharing.copies.graph.batch, graph, runs, pooled)
