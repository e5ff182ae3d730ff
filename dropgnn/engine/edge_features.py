r"""Distinct features of edges: they go through GINE's linear map once each, and what is heard,
:math:`\sum_t \mathrm{ReLU}(x_t + W e_{ts})`, is added up edge by edge without storing it."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from dropgnn.engine.plan import SharedPlan
from dropgnn.ops import ops_for


class Kinds(NamedTuple):
    """The distinct features of the edges of a batch: an edge with each of them, ``[W]``, and which every edge has, ``[E]``."""

    edge: Tensor
    of_edge: Tensor


def kinds_of(plan: SharedPlan) -> Kinds:
    """Made once and kept with the plan."""
    if "kinds" not in plan.kept:
        with torch.inference_mode(False):  # it may be needed for training later
            plan.kept["kinds"] = _kinds(plan)
    return plan.kept["kinds"]


def _kinds(plan: SharedPlan) -> Kinds:
    colour, loops = plan.edge_colour, ops_for(plan.source, plan.work)
    assert colour is not None  # there are edge features, or the encoder would have refused
    if plan.origin is None:
        kind, first = loops.colour_rows(colour.long().unsqueeze(1))
        return Kinds(first, kind)
    # Colours are those of the dataset, and few of its edges are in the batch.
    edges = torch.cat([level.edge for level in plan.levels[1:]]).unique()
    kind, first = loops.colour_rows(colour[edges].long().unsqueeze(1))
    of_edge = torch.zeros_like(colour)
    of_edge[edges] = kind
    return Kinds(edges[first], of_edge)
