r"""Samplers draw the dropped sets :math:`S_i`.

A sampler is called with a :class:`~dropgnn.graph.Graph` and returns :class:`~dropgnn.runs.runs.Runs`. Randomness comes
in as ``generator=``; where a sampler is random, its absence is an error.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from numbers import Real

import torch
from torch import Tensor

from dropgnn.errors import InvalidArgument, of_kind, one_of, real_number, whole_number
from dropgnn.graph import FEATURES, INTEGERS, MAX_ITEMS, Graph, known
from dropgnn.runs.dropped import list_dropped
from dropgnn.runs.exhaustive import enumerate_globally, enumerate_locally
from dropgnn.runs.runs import Runs
from dropgnn.theory.enumerate import BUDGET

Probability = float | Tensor | Callable[[Graph, str], Tensor]
"""One p for all items, one per item, or a rule ``(graph, items) -> p`` that gives one per item of any batch."""

DRAWS = 2**25
"""The most draws of a batch without raising the budget by name: a quarter of a gigabyte of random numbers."""

Count = int | Callable[[Graph], Tensor]
"""One r for all graphs, or a rule that gives one per graph."""


class Sampler(ABC):
    """Draws which items are dropped in which copy."""

    random: bool

    @abstractmethod
    def __call__(self, graph: Graph, *, items: str = "nodes", generator: torch.Generator | None = None) -> Runs:
        """Draw runs for every graph of the batch, dropping its ``"nodes"`` or its ``"links"``."""


class _RandomRuns(Sampler):
    """r copies of each graph, each with weight 1/r.

    Args:
        p: The probability that an item is dropped in a run.
        r: The number of runs.
        budget: The largest product of r and the items, or the graphs, of a batch; each takes 8 to 50 bytes.
    """

    random = True

    def __init__(self, p: Probability, r: Count, *, budget: int = DRAWS) -> None:
        self.budget = whole_number("budget", budget, least=1, most=MAX_ITEMS)
        self.p = _checked_p(p)
        self.r = _checked_r(r, self.budget)

    def __call__(self, graph: Graph, *, items: str = "nodes", generator: torch.Generator | None = None) -> Runs:
        if generator is None:
            raise InvalidArgument(
                "generator",
                f"is needed: {type(self).__name__} draws at random",
                got=None,
                hint="pass generator=torch.Generator().manual_seed(0) to the call or to DropGNN(...)",
            )
        of_kind("generator", generator, torch.Generator, "e.g. torch.Generator().manual_seed(0)")
        sizes = known(graph).items_per_graph(items)
        graph_of_item = torch.repeat_interleave(torch.arange(graph.num_graphs, device=sizes.device), sizes)
        p, r = _per_item(self.p, graph, items), _per_graph(self.r, graph)
        most = int(r.max()) if r.numel() else 0
        if most * max(graph_of_item.numel(), graph.num_graphs) > self.budget:
            raise InvalidArgument(
                "r",
                f"must keep runs times {items}, or times graphs, within the budget of {self.budget:,}",
                got=f"up to {most:,} runs of {graph.num_graphs:,} graphs with {graph_of_item.numel():,} {items}",
                hint="reduce r, take smaller batches, or raise budget=",
            )
        chosen = self._choose(p.to(generator.device), r[graph_of_item].to(generator.device), most, generator)
        dropped = list_dropped(chosen.to(sizes.device), sizes, r)
        return Runs(
            items,
            sizes,
            torch.repeat_interleave(torch.arange(graph.num_graphs, device=sizes.device), r),
            torch.repeat_interleave(1.0 / r.double(), r),
            dropped,
        )

    @abstractmethod
    def _choose(self, p: Tensor, r: Tensor, most: int, generator: torch.Generator) -> Tensor:
        """Whether item i is dropped in run j of its graph: p, r ``[I]`` to ``[I, most]``; nobody asks where j >= r[i]."""

    def __repr__(self) -> str:
        budget = f", budget={self.budget}" if self.budget != DRAWS else ""
        return f"{type(self).__name__}(p={_show(self.p)}, r={_show(self.r)}{budget})"


class Bernoulli(_RandomRuns):
    """Every item dropped with probability p, independently in each of r runs. The paper's choice.

    >>> ring = Graph.of(torch.ones(3, 1), torch.tensor([[0, 1, 2], [1, 2, 0]]))
    >>> print(Bernoulli(p=0.3, r=4)(ring, generator=torch.Generator().manual_seed(0)))
    4 copies of 1 graph, 3 nodes dropped
      graph 0: nothing (0.25), {2} (0.25), {1} (0.25), {2} (0.25)
    """

    def _choose(self, p: Tensor, r: Tensor, most: int, generator: torch.Generator) -> Tensor:
        return _uniform(p.numel(), most, generator) < p.unsqueeze(1)


class Stratified(_RandomRuns):
    """Every item dropped either floor(rp) or ceil(rp) times in r runs, rp times in expectation.

    In a single run this looks like :class:`Bernoulli`; over the r runs no item is forgotten or dropped all the time.
    """

    def _choose(self, p: Tensor, r: Tensor, most: int, generator: torch.Generator) -> Tensor:
        expected = p * r
        times = expected.floor() + (_uniform(p.numel(), 1, generator).squeeze(1) < expected.frac())
        u = _uniform(p.numel(), most, generator).masked_fill(~_within(r, most), 2.0)
        rank = u.argsort(dim=1).argsort(dim=1)
        return rank < times.unsqueeze(1)


class Exhaustive(Sampler):
    """Every dropout of up to k items, weighted by its exact probability given at most k drops. Nothing is random.

    Args:
        p: The dropout probability whose law the weights follow.
        k: The largest number of items dropped together.
        scope: ``"graph"``, or ``"neighborhood"``: a node then averages over the dropouts inside its own
            neighbourhood, with the law restricted to it, which is what one wants in a large graph.
        hops: The radius of that neighbourhood (scope ``"neighborhood"`` only).
        budget: The largest number of dropped sets, or of pairs of a node and a set in its neighbourhood, per graph.

    >>> pair = Graph.of(torch.ones(2, 1), torch.tensor([[0, 1], [1, 0]]))
    >>> print(Exhaustive(p=0.25, k=1)(pair))
    3 copies of 1 graph, 2 nodes dropped
      graph 0: nothing (0.6), {0} (0.2), {1} (0.2)
    """

    random = False

    def __init__(
        self, p: Probability, k: int = 1, *, scope: str = "graph", hops: int | None = None, budget: int = BUDGET
    ) -> None:
        one_of("scope", scope, ("graph", "neighborhood"))
        if (scope == "neighborhood") != (hops is not None):
            raise InvalidArgument(
                "hops",
                "must be given with scope='neighborhood' and only then",
                got=hops,
                hint="use the number of layers of the encoder",
            )
        k = whole_number("k", k, least=0)
        self.p = _checked_p(p)
        self.k, self.scope, self.budget = k, scope, whole_number("budget", budget, least=1)
        self.hops = None if hops is None else whole_number("hops", hops, least=1)

    def __call__(self, graph: Graph, *, items: str = "nodes", generator: torch.Generator | None = None) -> Runs:
        p = _per_item(self.p, known(graph), items)
        largest = float(p.max()) if p.numel() else 0.0
        if largest >= 1:
            raise InvalidArgument("p", "must be below 1 for exhaustive runs", got=largest)
        if self.hops is None:
            return enumerate_globally(graph, items, p, largest, self.k, self.budget)
        return enumerate_locally(graph, items, p, largest, self.k, self.hops, self.budget)

    def __repr__(self) -> str:
        where = f", scope='neighborhood', hops={self.hops}" if self.hops is not None else ""
        return f"Exhaustive(p={_show(self.p)}, k={self.k}{where})"


def _uniform(rows: int, columns: int, generator: torch.Generator) -> Tensor:
    return torch.rand(rows, columns, generator=generator, dtype=torch.float64, device=generator.device)


def _within(r: Tensor, most: int) -> Tensor:
    return torch.arange(most, device=r.device) < r.unsqueeze(1)


ADVICE = "RunPlan.of(graphs, hops=...).p is a good choice"


def _checked_p(p: Probability) -> Probability:
    return p if callable(p) else _in_range(p)


def _in_range(p: object) -> float | Tensor:
    """``p``, if it is a number or numbers in [0, 1]."""
    if not isinstance(p, (Real, Tensor)) or isinstance(p, bool):
        raise InvalidArgument("p", "must be a number, a tensor or a rule", got=type(p).__name__)
    if not isinstance(p, Tensor):
        return real_number("p", p, least=0.0, most=1.0, hint=ADVICE)
    if p.layout != torch.strided or p.is_meta or p.dtype not in (*FEATURES, *INTEGERS) or p.requires_grad:
        got = f"{p.dtype}, {p.layout}, on {p.device}" + (", with gradients" if p.requires_grad else "")
        raise InvalidArgument("p", "must be a dense tensor of real numbers", got=got, hint="e.g. p.detach().float()")
    values = p.detach().to(torch.float64)
    if not bool(((values >= 0) & (values <= 1)).all()):
        wrong = values[~((values >= 0) & (values <= 1))].flatten()[0].item()
        raise InvalidArgument("p", "must lie in [0, 1]", got=wrong, hint=ADVICE)
    return p


def _checked_r(r: Count, budget: int) -> Count:
    if callable(r):
        return r
    return whole_number("r", r, least=1, most=budget, hint="RunPlan.of(graphs, hops=...).runs is a good choice")


def _per_item(p: Probability, graph: Graph, items: str) -> Tensor:
    """p of every item, shape ``[I]``, float64."""
    number = int(graph.items_per_graph(items).sum())
    value = _in_range(p(graph, items)) if callable(p) else p
    value = torch.as_tensor(value, dtype=torch.float64, device=graph.batch.device)
    if value.dim() == 0:
        return value.expand(number)
    if value.shape != (number,):
        raise InvalidArgument(
            "p",
            f"must be one number or one per item, here [{number}]",
            got=tuple(value.shape),
            hint="for batches of varying size give a rule such as plan.p_by_region",
        )
    return value


def _per_graph(r: Count, graph: Graph) -> Tensor:
    """r of every graph, shape ``[G]``."""
    if not callable(r):
        return torch.full((graph.num_graphs,), r, dtype=torch.long, device=graph.batch.device)
    rule = f"must give a whole number of at least 1 for each of {graph.num_graphs} graphs"
    given = r(graph)
    try:
        value = torch.as_tensor(given, device=graph.batch.device)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        raise InvalidArgument("r", rule, got=given) from None
    if value.dtype not in INTEGERS or value.shape != (graph.num_graphs,) or bool((value < 1).any()):
        got = f"shape {tuple(value.shape)}, beginning {value.flatten().tolist()[:10]}"
        raise InvalidArgument("r", rule, got=got)
    return value.long()


def _show(value: object) -> str:
    if isinstance(value, Tensor):
        return f"<{value.numel()} values>"
    return f"{value:.4g}" if isinstance(value, (int, float)) else getattr(value, "__name__", repr(value))
