"""The paper's advice for given graphs, as one printable value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from dropgnn.errors import InvalidArgument, one_of, whole_number
from dropgnn.theory.checks import flag, real, shown, whole_numbers
from dropgnn.theory.numbers import (
    best_probability,
    neighborhood_sizes,
    runs_for_one_dropouts,
    runs_theorem1,
    runs_theorem2,
    runs_to_see,
)

REDUCTIONS = ("mean", "max")
"""How one gamma is made of those of all nodes."""


class HasEdges(Protocol):
    """What planning needs of a graph; ``torch_geometric.data.Data`` and :class:`dropgnn.Graph` both have it."""

    @property
    def edge_index(self) -> Tensor: ...

    @property
    def num_nodes(self) -> int | None: ...


@dataclass(frozen=True)
class Region:
    """Nodes with neighbourhoods of similar size, and the p that suits them."""

    smallest: int
    largest: int
    nodes: int
    gamma: float

    def __post_init__(self) -> None:
        for name in ("smallest", "largest", "nodes"):
            whole_number(name, getattr(self, name), least=0)
        real("gamma", self.gamma, "must be a finite number of at least 0", lambda gamma: gamma >= 0)

    @property
    def p(self) -> float:
        return _sensible_probability(self.gamma)


@dataclass(frozen=True)
class RunPlan:
    r"""How to choose p and r (Section 3.1), computed from the :math:`d`-hop neighbourhoods of real graphs.

    .. math:: p^* = \frac{1}{1 + \gamma}, \qquad r \ge e (\gamma + 1)

    Build one with :meth:`of`; ``print`` shows what it says.

    >>> from torch_geometric.data import Data
    >>> ring = torch.arange(8)
    >>> edges = torch.stack([torch.cat([ring, ring]), torch.cat([ring.roll(1), ring.roll(-1)])])
    >>> plan = RunPlan.of([Data(edge_index=edges, num_nodes=8)], hops=2)
    >>> plan.gamma, plan.p, plan.runs
    (4.0, 0.2, 14)

    Args:
        hops: The number of layers d whose neighbourhood is of interest.
        reduce: Whether ``gamma`` is the mean or the maximum over all nodes.
        gammas: gamma of every node of every graph.
        graphs: The number of graphs.
    """

    hops: int
    reduce: str
    gammas: tuple[int, ...]
    graphs: int

    def __post_init__(self) -> None:
        whole_number("hops", self.hops, least=1)
        one_of("reduce", self.reduce if isinstance(self.reduce, str) else shown(self.reduce), REDUCTIONS)
        rule = "must be whole numbers from 0, one for each node"
        gammas = whole_numbers("gammas", self.gammas, rule, ndim=1)
        if not gammas.size or (gammas < 0).any():
            raise InvalidArgument("gammas", rule, got=shown(self.gammas))
        object.__setattr__(self, "gammas", tuple(gammas.tolist()))  # also where an array or a tensor was given
        whole_number("graphs", self.graphs, least=0)

    @classmethod
    def of(cls, graphs: Iterable[HasEdges] | HasEdges, *, hops: int, reduce: str = "mean") -> RunPlan:
        """Plan for one graph or for many, e.g. a PyG dataset."""
        one_of("reduce", reduce if isinstance(reduce, str) else shown(reduce), REDUCTIONS)
        hops = whole_number("hops", hops, least=1)
        if hasattr(graphs, "num_nodes"):
            graphs = [graphs]  # type: ignore[list-item]
        if not isinstance(graphs, Iterable) or (isinstance(graphs, Tensor) and not graphs.dim()):
            rule = "must be a graph or a list of graphs"
            raise InvalidArgument("graphs", rule, got=type(graphs).__name__, hint="use PyG's Data or Batch")
        graphs = list(graphs)
        gammas = [sizes_of(graph, hops) for graph in graphs]
        if not gammas or not sum(map(len, gammas)):
            raise InvalidArgument("graphs", "must have at least one node", got=f"{len(gammas)} graphs without nodes")
        number = sum(int(getattr(graph, "num_graphs", 1)) for graph in graphs)
        return cls(hops, reduce, tuple(np.concatenate(gammas).tolist()), number)

    @property
    def nodes(self) -> int:
        return len(self.gammas)

    @property
    def gamma(self) -> float:
        return float(np.mean(self.gammas) if self.reduce == "mean" else np.max(self.gammas))

    @property
    def p(self) -> float:
        """The dropout probability at which 1-dropouts are most frequent."""
        return _sensible_probability(self.gamma)

    @property
    def runs(self) -> int:
        """Runs after which each 1-dropout is expected at least once."""
        return runs_for_one_dropouts(self.gamma)

    def runs_to_see(self, k: int) -> int:
        """Runs after which one given k-dropout is expected once."""
        return runs_to_see(self.gamma, k)

    def theorem1(self, *, delta: float = 0.5, t: float = 100.0, all_nodes: bool = False) -> int:
        """Runs of Theorem 1, for one node, or for all nodes at once: then at the largest gamma and its p*."""
        return runs_theorem1(*self._promise(all_nodes), delta=delta, t=t)

    def theorem2(self, *, delta: float = 0.5, t: float = 100.0, all_nodes: bool = False) -> int:
        """Runs of Theorem 2, for one node, or for all nodes at once: then at the largest gamma and its p*."""
        return runs_theorem2(*self._promise(all_nodes), delta=delta, t=t)

    def _promise(self, all_nodes: bool) -> tuple[float, int]:
        """The gamma and the number of nodes a theorem is asked about."""
        return (float(max(self.gammas)), self.nodes) if flag("all_nodes", all_nodes) else (self.gamma, 1)

    @property
    def regions(self) -> tuple[Region, ...]:
        """Nodes grouped by neighbourhood size, each group within a factor of two, from small to large."""
        gammas = np.array(self.gammas)
        bands = _band(gammas)
        return tuple(
            Region(int(member.min()), int(member.max()), len(member), float(member.mean()))
            for member in (gammas[bands == band] for band in np.unique(bands))
        )

    def p_by_region(self, graph: HasEdges, items: str = "nodes") -> Tensor:
        """A p for every node of ``graph``: that of its region; give it to a sampler as ``p=plan.p_by_region``.

        Neighbourhoods of a size this plan has never met get the p of their own size.
        """
        if not isinstance(items, str) or items != "nodes":
            raise InvalidArgument(
                "items", "must be nodes: regions are regions of nodes", got=items, hint="give a number as p"
            )
        sizes = sizes_of(graph, self.hops)
        known = {int(_band(np.array(region.smallest))): region.p for region in self.regions}
        chosen = [
            known.get(int(band), _sensible_probability(size)) for band, size in zip(_band(sizes), sizes, strict=True)
        ]
        return torch.tensor(chosen, dtype=torch.float64, device=graph.edge_index.device)

    def __str__(self) -> str:
        return (
            f"{self.graphs} graphs, {self.nodes} nodes, {shown(self.hops)}-hop neighbourhoods: "
            f"gamma = {self.gamma:.2f} ({self.reduce}), p* = {probability_text(self.p)}, r >= {self.runs}"
        )


def sizes_of(graph: HasEdges, hops: int) -> np.ndarray:
    """gamma of every node of a graph with ``edge_index`` and ``num_nodes``, shape ``[N]``."""
    for name in ("edge_index", "num_nodes"):
        if getattr(graph, name, None) is None:
            raise InvalidArgument(
                "graphs", f"must have {name}", got=type(graph).__name__, hint="use PyG's Data or Batch"
            )
    edge_index = graph.edge_index
    if not isinstance(edge_index, Tensor):
        raise InvalidArgument("edge_index", "must be a tensor", got=type(edge_index).__name__)
    return neighborhood_sizes(edge_index.detach().cpu().numpy(), graph.num_nodes, hops)  # type: ignore[arg-type]


def probability_text(p: float) -> str:
    """Four decimals, and more where these would be zeros.

    >>> probability_text(0.25), probability_text(1 / 99_999)
    ('0.2500', '1e-05')
    """
    return f"{p:.4f}" if p >= 0.001 else f"{p:.2g}"


def _sensible_probability(gamma: float) -> float:
    """p*, but never above 1/2: a node without neighbours has no 1-dropout to see, and p* would always drop it."""
    return best_probability(max(gamma, 1.0))


def _band(gammas: np.ndarray) -> np.ndarray:
    """0, 1, 2-3, 4-7, 8-15, ... as consecutive integers."""
    return np.frexp(gammas.astype(np.float64))[1]
