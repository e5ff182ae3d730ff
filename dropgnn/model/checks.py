"""What can be wrong between a model and its input, said before anything is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from dropgnn.engine.heads import check_head, takes_batch
from dropgnn.engine.plan import SharedPlan
from dropgnn.errors import InvalidArgument, Unsupported, of_kind
from dropgnn.graph import Graph
from dropgnn.model.aggregate import AGGREGATORS, Aggregator
from dropgnn.runs.modes import MODES, Mode
from dropgnn.runs.runs import Runs
from dropgnn.runs.samplers import Sampler

if TYPE_CHECKING:
    from dropgnn.model.embedding import Embedding


def check_runs(runs: Runs, graph: Graph, mode: Mode, *, pooled: bool) -> None:
    """The runs are for these graphs, this mode and this kind of encoder."""
    if runs.items != mode.items:
        raise InvalidArgument("runs", f"must drop {mode.items} for {mode!r}", got=runs.items)
    sizes = graph.items_per_graph(runs.items)
    if not torch.equal(runs.items_per_graph, sizes):
        raise InvalidArgument(
            "runs",
            f"must be for these graphs, with {sizes.tolist()[:10]} {runs.items}",
            got=runs.items_per_graph.tolist()[:10],
        )
    if runs.shares is not None and not torch.equal(runs.shares.nodes_per_graph, graph.nodes_per_graph):
        raise InvalidArgument(
            "runs", "must be for these graphs", got=f"shares of {runs.shares.nodes_per_graph.tolist()[:10]}"
        )
    if pooled and runs.shares is not None:
        raise Unsupported(
            "runs of scope 'neighborhood' weigh copies node by node, but the encoder pools to graphs; use scope='graph'"
        )


def check_plan(plan: SharedPlan, graph: Graph, embed: Embedding) -> None:
    """The plan is for this batch, this encoder and this mode, and there is no reason not to share now."""
    of_kind("plan", plan, SharedPlan, "made by model.plan(...)")
    if not plan.is_for(graph):
        raise InvalidArgument("plan", "must be for this very batch", got="one for other features or edges")
    if not plan.is_untouched():
        raise InvalidArgument("plan", "must be as it was made; make another one", got="one with edited levels")
    if embed.obstacle is not None:
        raise Unsupported(
            f"a plan is for engine 'shared', which would not be exact now: {embed.obstacle}; leave it out"
        )
    if not embed.fits(plan):
        raise InvalidArgument("plan", "must be made by this model", got="one for another mode or other layers")


def check_parts(
    sampler: object,
    eval_sampler: object,
    mode: object,
    aggregator: object,
    head: torch.nn.Module | None,
    auxiliary: torch.nn.Module | None,
    generator: object,
    *,
    pooled: bool,
) -> None:
    """The pieces of a DropGNN are of the right kind and fit together."""
    of_kind("sampler", sampler, Sampler, "e.g. Bernoulli(p=0.1, r=20)")
    if eval_sampler is not None:
        of_kind("eval_sampler", eval_sampler, Sampler, "e.g. Exhaustive(p=0.1, k=1)")
    if not isinstance(mode, str):
        of_kind("mode", mode, Mode, f"or one of {', '.join(MODES)}")
    if not isinstance(aggregator, str):
        of_kind("aggregator", aggregator, Aggregator, f"or one of {', '.join(AGGREGATORS)}")
    for name, module in (("head", head), ("auxiliary", auxiliary)):
        if module is not None:
            of_kind(name, module, torch.nn.Module, "e.g. torch.nn.Linear(16, 2), or Pooled(...) for graphs")
            check_head(name, module)
    if generator is not None:
        of_kind("generator", generator, torch.Generator, "e.g. torch.Generator().manual_seed(0)")
    for name, module in (("head", head), ("auxiliary", auxiliary)):
        if pooled and takes_batch(module):
            raise InvalidArgument(
                name,
                "must be for rows where the encoder pools already",
                got=type(module).__name__,
                hint="e.g. torch.nn.Linear",
            )
    if auxiliary is not None and not pooled and takes_batch(head) != takes_batch(auxiliary):
        raise InvalidArgument(
            "auxiliary", "must predict what head predicts, nodes or graphs", got=type(auxiliary).__name__
        )
