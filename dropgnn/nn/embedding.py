"""Which engine runs an encoder now, and what it has found out of the encoder."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from torch_geometric.nn.models.basic_gnn import BasicGNN

from dropgnn.engine import ENGINES
from dropgnn.engine.allowed import why_not
from dropgnn.engine.distinct import depth_of, obstacle_to_rows, plan_for, reads_degrees, share
from dropgnn.engine.embedded import Embedded
from dropgnn.engine.plan import SharedPlan
from dropgnn.engine.shared import fits, plan_allowed
from dropgnn.engine.spaces import Sharing
from dropgnn.errors import NotShared, Unsupported
from dropgnn.graph import Graph
from dropgnn.runs.runs import Runs

if TYPE_CHECKING:
    from dropgnn.nn.model import DropGNN


class Embedding:
    """The encoder of a model, run by one engine.

    Args:
        model: With engine ``auto``, equal rows are shared as far as that is exact.
    """

    def __init__(self, model: DropGNN) -> None:
        self.model = model
        self.sharing: Sharing | None = None
        self.layered = _in_layers(model) and why_not(model.encoder, model.mode, pooled=model.pooled) is None
        self.obstacle = None if self.layered else obstacle_to_rows(model.encoder, model.mode)
        self.shares = model.engine in ("auto", "shared") and self.obstacle is None
        if model.engine == "shared" and self.obstacle is not None:
            raise Unsupported(f"engine 'shared' would not be exact: {self.obstacle}; use engine='auto' or 'batched'")

    def __call__(self, graph: Graph, runs: Runs, plan: SharedPlan | None = None) -> Embedded:
        """Every row of every copy, or the distinct ones."""
        try:
            return self._embed(graph, runs, plan)
        except AssertionError as problem:
            if any(getattr(part, "explain", False) for part in self.model.encoder.modules()):
                raise _masked() from problem
            raise

    def _embed(self, graph: Graph, runs: Runs, plan: SharedPlan | None) -> Embedded:
        model = self.model
        if not self.shares:
            engine = "batched" if model.engine == "auto" else model.engine
            return ENGINES[engine](model.encoder, model.mode, graph, runs, pooled=model.pooled)
        if self.layered:
            plan = self.plan(graph, runs) if plan is None else plan
            return ENGINES["shared"](model.encoder, model.mode, graph, runs, pooled=model.pooled, plan=plan)
        embedded, self.sharing = share(
            model.encoder, model.mode, graph, runs,
            pooled=model.pooled, plan=plan, trace=not model.was_told, strict=model.engine == "shared",
        )  # fmt: skip
        model.depth = self.sharing.depth
        return embedded

    def plan(self, graph: Graph, runs: Runs) -> SharedPlan:
        """A plan for as many layers as the encoder asked for when it ran last; it grows where it asks for more."""
        encoder, mode = self.model.encoder, self.model.mode
        if self.layered:
            return plan_allowed(encoder, mode, graph, runs)
        return plan_for(encoder, mode, graph, runs, self.model.depth or 0)

    def count_layers(self, graph: Graph, runs: Runs) -> None:
        """Find out how many layers the encoder asks for, where that is not known yet."""
        model = self.model
        if not self.layered and model.depth is None:
            model.depth = depth_of(model.encoder, model.mode, graph, runs, pooled=model.pooled)

    def fits(self, plan: SharedPlan) -> bool:
        """Whether a plan is one for the encoder and its mode."""
        encoder, mode = self.model.encoder, self.model.mode
        if self.layered:
            return fits(plan, encoder, mode)
        return type(plan.mode) is type(mode) and (plan.degrees or not reads_degrees(encoder))

    def remark(self, runs: Runs, *, stacklevel: int) -> None:
        """Say once where, or why, equal rows are computed in every copy."""
        model, name = self.model, type(self.model.encoder).__name__
        if model.engine != "auto" or model.was_told:
            return
        most = int(runs.copies_per_graph.max()) if runs.num_graphs else 0
        in_full = f"is run in full for each of the {most} runs, which is right but slower"
        if self.obstacle is not None:
            what = f"{name} {in_full} than computing equal rows once: {self.obstacle}"
        elif self.sharing is not None and self.sharing.ended:
            what = (
                f"{name} computes equal rows once, but only as far as {self.sharing.ended[0]}; from there it {in_full}"
            )
        else:
            return
        model.was_told = True
        warnings.warn(what, NotShared, stacklevel=stacklevel + 1)


def _masked() -> Unsupported:
    return Unsupported(
        "the encoder's layers hold edge masks of PyG's explainer, which are for the edges of one graph and not for those of all "
        "runs; explain the encoder by itself, model.encoder, or clear the masks with torch_geometric.explain's clear_masks"
    )


def _in_layers(model: DropGNN) -> bool:
    """Whether the encoder is run layer by layer: ours are, and others where rows are zeroed between layers."""
    effect = model.mode.shared_effect
    return not isinstance(model.encoder, BasicGNN) or (effect is not None and effect.zero_when_read)
