"""What is made of a dataset's files: which nodes and graphs stay, what a GNN sees of a node, and the paper's choices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from dropgnn.data.raw import RawGraphs
from dropgnn.errors import InvalidArgument
from dropgnn.registry import Registry

HYDROGEN = 19
"""The label of hydrogen in the GIN paper's PTC; PTC_MR has labels up to 17, and no hydrogens."""

LARGEST = 1 << 31
"""Numbers in a matrix of features, 8 GB in single precision."""


class Filter(NamedTuple):
    """Which nodes stay, if not all, and then which graphs."""

    graphs: Callable[[RawGraphs], Tensor] = lambda raw: torch.ones_like(raw.nodes, dtype=torch.bool)
    nodes: Callable[[RawGraphs], Tensor] | None = None

    def on_nodes(self, raw: RawGraphs) -> RawGraphs:
        """All graphs, on the nodes that stay."""
        if self.nodes is None:
            return raw
        left = raw.induced(self.nodes(raw))
        if empty := int((left.nodes == 0).sum()):
            raise InvalidArgument("filter", "must leave a node of every graph", got=f"{empty} graphs without")
        return left


FILTERS = Registry[Filter](
    "filter",
    {
        "none": Filter(),
        "at-most-70-nodes": Filter(lambda raw: raw.nodes <= 70),
        "proteins": Filter(lambda raw: (raw.nodes < 450) & ~((raw.nodes == 7) & (raw.edges == 12))),
        "without-hydrogens": Filter(nodes=lambda raw: ~_hydrogens(raw)),
    },
)
"""``proteins`` leaves out graphs of 450 nodes and more, and those with 7 nodes and 6 edges; ``without-hydrogens``, for PTC, all
nodes with the label 19."""

FEATURES = Registry[Callable[[RawGraphs], Tensor]](
    "features",
    {
        "labels": lambda raw: one_hot_of(_said(raw, "labels")),
        "attributes": lambda raw: _said(raw, "attributes"),
        "labels+attributes": lambda raw: torch.cat([one_hot_of(_said(raw, "labels")), _said(raw, "attributes")], dim=1),
        "degree": lambda raw: one_hot_of(raw.degree),
        "constant": lambda raw: torch.ones(int(raw.nodes.sum()), 1),
    },
)
"""What a GNN sees of a node: its label or its degree, one-hot, the numbers in the files, or nothing."""


@dataclass(frozen=True)
class Recipe:
    """How the paper treats a dataset, and what there is to say about it."""

    features: str
    filter: str = "none"
    remark: str = ""


PAPER = {
    "MUTAG": Recipe("labels"),
    "PTC": Recipe("labels", remark="the GIN paper's; the paper prints the statistics of PTC_MR"),
    "PTC_MR": Recipe(
        "labels", "without-hydrogens", remark="the GIN paper's PTC without hydrogens; so the paper's statistics"
    ),
    "PROTEINS": Recipe("labels", "proteins"),
    "IMDB-B": Recipe("degree", "at-most-70-nodes"),
    "IMDB-M": Recipe("degree", "at-most-70-nodes"),
}
"""The datasets of Table 2; which of the two PTCs the paper means is open (``docs/real.md``)."""


def _hydrogens(raw: RawGraphs) -> Tensor:
    """The nodes with their label, ``[N]``, which in another dataset may mean something else."""
    labelled = needed(raw.tag, "labels", "filter") == HYDROGEN
    bonds = int(raw.degree[labelled].max()) if bool(labelled.any()) else 1
    if bonds > 1:
        rule = f"must be for graphs in which label {HYDROGEN} is hydrogen, with one bond"
        raise InvalidArgument("filter", rule, got=f"a node of that label with {bonds}")
    return labelled


def one_hot_of(values: Tensor) -> Tensor:
    """A column for every value that occurs."""
    kinds, number = torch.unique(values, return_inverse=True)
    if (cells := kinds.numel() * number.numel()) > LARGEST:
        got = f"{kinds.numel():,} different values for {number.numel():,} of them, {cells:,} numbers"
        raise InvalidArgument("features", f"must be at most {LARGEST:,} numbers", got=got, hint="choose 'constant'")
    return one_hot(number, kinds.numel())


def needed(values: Tensor | None, what: str, argument: str, hint: str = "leave it out") -> Tensor:
    """The values, where the files have them."""
    if values is None:
        raise InvalidArgument(argument, f"must not ask for {what}, which the files do not have", got=what, hint=hint)
    return values


def _said(raw: RawGraphs, what: str) -> Tensor:
    """Labels or attributes of the nodes."""
    others = "".join(f"'{there}', " for there in raw.said_of_nodes)
    return needed(raw.said_of_nodes.get(what), what, "features", f"choose {others}'degree' or 'constant'")
