"""The engine that runs an encoder's own ``forward`` on distinct rows."""

from __future__ import annotations

import copy
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import _StopRecomputationError

import dropgnn.engine.functions
import dropgnn.engine.rules.gin
import dropgnn.engine.rules.layers
import dropgnn.engine.rules.nnconv
import dropgnn.engine.rules.pyg_layers  # noqa: F401  (functions and rules register themselves)
from dropgnn.engine.batched import as_rows, batched, check_rows
from dropgnn.engine.edge_features import kinds_of
from dropgnn.engine.embedded import Embedded
from dropgnn.engine.handles import batch_of, edge_index_of
from dropgnn.engine.intercept import GLOBAL_HOOKS, install
from dropgnn.engine.plan import SharedPlan, TooShallow
from dropgnn.engine.planning import make_plan
from dropgnn.engine.rows import Block, CannotShare, Rows, rows_of
from dropgnn.engine.rules.rule import rule_of
from dropgnn.engine.shared_rows import SharedRows
from dropgnn.engine.spaces import Sharing
from dropgnn.engine.undo import is_ours, remember
from dropgnn.engine.weighing import WeighCopies
from dropgnn.engine.whole import call_with, given_to
from dropgnn.engine.zeroing import zeroing
from dropgnn.errors import InvalidArgument, Unsupported
from dropgnn.graph import Graph
from dropgnn.nn.modules import inside
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
    if is_ours(encoder):
        return False
    rules = ((module, rule_of(module)) for module in inside(encoder))
    return any(rule is not None and rule.degrees(module) for module, rule in rules)


def shared(
    encoder: torch.nn.Module,
    mode: Mode,
    graph: Graph,
    runs: Runs,
    *,
    pooled: bool = False,
    plan: SharedPlan | None = None,
) -> Embedded:
    """Engine ``shared``: every distinct computation once, or an error where that would not be exact."""
    check_shareable(encoder, mode)
    install()
    return share(encoder, mode, graph, runs, pooled=pooled, plan=plan, strict=True)[0]


def check_shareable(encoder: torch.nn.Module, mode: Mode) -> None:
    """Raise where nothing of the encoder can be run on distinct rows."""
    reason = obstacle_to_rows(encoder, mode)
    if reason is not None:
        raise _not_exact(reason)


def _not_exact(reason: object) -> Unsupported:
    return Unsupported(f"engine 'shared' would not be exact: {reason}; use engine='auto' or 'batched'")


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
    restore, weighs = remember(encoder, graph.x.device), not runs.equally_weighted
    sharing, failed = Sharing(plan or plan_for(encoder, mode, graph, runs), trace=trace), False
    try:
        try:
            out = _run(encoder, sharing, pooled=pooled, weighs=weighs)
        except TooShallow:  # the plan was made for fewer layers, and cannot grow
            restore()
            sharing = Sharing(plan_for(encoder, mode, graph, runs), trace=trace)
            out = _run(encoder, sharing, pooled=pooled, weighs=weighs)
        if not (strict and sharing.ended):
            return _embedded(out, sharing, pooled=pooled), sharing
    except CannotShare as problem:
        sharing.end(str(problem))
    except _StopRecomputationError:  # a checkpoint has what it wanted
        raise
    except Exception as problem:  # whatever it is, it may be of our making: the definition decides
        failed = True
        sharing.end(f"{type(problem).__name__}: {problem}")
    restore()
    if not strict:
        return batched(encoder, mode, graph, runs, pooled=pooled), sharing
    if failed:
        batched(encoder, mode, graph, runs, pooled=pooled)  # raises what is wrong with the encoder, if anything is
        restore()
    raise _not_exact(sharing.ended[0])


def _run(encoder: torch.nn.Module, sharing: Sharing, *, pooled: bool, weighs: bool) -> Any:
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
    sharing.edge_attr = None if attr is None else attr.distinct()
    handles = replace(graph, edge_attr=attr, batch=batch_of(sharing), num_graphs=sharing.runs.num_copies)
    rows, edges = rows_of([Block(x, 0)], sharing.nodes), edge_index_of(sharing)
    given = given_to(encoder, handles, more)
    dropped = sharing.runs.mask if sharing.plan.effect.zero_when_read else None
    weighing = WeighCopies(lambda: sharing.copies.graph, sharing.runs) if weighs else nullcontext()
    with zeroing(dropped, lambda: sharing.copies.graph.batch, list(more.values())) as zeroes, weighing:
        out = call_with(encoder, rows, edges, given)
        return out if zeroes is None or pooled else zeroes.read(out)


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
