"""Which engine runs an encoder now, and what it has found out of the encoder."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from dropgnn.engine import ENGINES
from dropgnn.engine.embedded import Embedded
from dropgnn.engine.plan import SharedPlan
from dropgnn.engine.shared import check_shareable, depth_of, obstacle_to_rows, plan_for, reads_degrees, share
from dropgnn.engine.spaces import Sharing
from dropgnn.errors import NotShared, Unsupported
from dropgnn.graph import Graph
from dropgnn.runs.runs import Runs

if TYPE_CHECKING:
    from dropgnn.model.dropgnn import DropGNN

MOST_AHEAD = 64
"""Layers that are planned on the word of an encoder's ``num_layers``, before it has run; a plan grows if there are more."""


class Embedding:
    """The encoder of a model, run by one engine.

    Args:
        model: With engine ``auto``, equal rows are shared as far as that is exact.
    """

    def __init__(self, model: DropGNN) -> None:
        self.model = model
        self.sharing: Sharing | None = None
        self.obstacle = obstacle_to_rows(model.encoder, model.mode)
        self.shares = model.engine in ("auto", "shared") and self.obstacle is None
        if model.engine == "shared":
            check_shareable(model.encoder, model.mode)

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
        embedded, self.sharing = share(
            model.encoder, model.mode, graph, runs,
            pooled=model.pooled, plan=plan, trace=not model.was_told, strict=model.engine == "shared",
        )  # fmt: skip
        model.depth = self.sharing.depth
        return embedded

    def plan(self, graph: Graph, runs: Runs) -> SharedPlan:
        """A plan for as many layers as the encoder asked for when it ran last; it grows where it asks for more."""
        known = self.model.depth if self.model.depth is not None else getattr(self.model.encoder, "num_layers", 0)
        depth = min(known, MOST_AHEAD) if isinstance(known, int) else 0
        return plan_for(self.model.encoder, self.model.mode, graph, runs, depth)

    def count_layers(self, graph: Graph, runs: Runs) -> None:
        """Find out how many layers the encoder asks for, where that is not known yet."""
        model = self.model
        if model.depth is None:
            model.depth = depth_of(model.encoder, model.mode, graph, runs, pooled=model.pooled)

    def fits(self, plan: SharedPlan) -> bool:
        """Whether a plan is one for the encoder and its mode."""
        mode = self.model.mode
        same = plan.effect == mode.shared_effect and plan.runs.items == mode.items
        return same and (plan.degrees or not reads_degrees(self.model.encoder))

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
