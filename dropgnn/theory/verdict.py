"""What is found out about a pair of graphs, as a value that prints itself."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dropgnn.theory.telling import Telling


@dataclass(frozen=True)
class Verdict:
    """What can be said about a pair, and for which GNN; ``print`` says it.

    Args:
        k: The smallest number of nodes that must drop; 0 where the pair is separated without; ``None`` where no k tried
            separates it.
        tried: The largest k tried.
        subsets: How many dropped sets each graph has up to that k.
        depth: Rounds of refinement, ``None`` for as many as make a difference.
        mode: What dropping did.
        p: The dropout probability that probabilities and runs are for.
        telling: The most telling view, where the pair is separated by dropouts; ``None`` also where it was not to be looked
            for, or among too many sets.
        proved: Whether it was checked colour by colour that smaller k do not separate, not by words alone; where that
            would take too much memory it is not.
        eps: Of the GIN that this is about; ``None`` where it is about GNNs as strong as 1-WL.
        same: ``"equal"`` or ``"isomorphic"`` where the graphs are known to be, and nothing can separate them.
        coloured: Whether nodes or edges have colours.
    """

    k: int | None
    tried: int
    subsets: int
    depth: int | None
    mode: str
    p: Fraction
    telling: Telling | None
    proved: bool = True
    eps: Fraction | None = None
    same: str | None = None
    coloured: bool = False

    @property
    def wl(self) -> bool:
        """Whether the pair is separated without any dropout: by 1-WL, or with ``eps`` by GIN."""
        return self.k == 0

    @property
    def gnn(self) -> str:
        """The GNNs that this is true of."""
        if self.eps is not None:
            return f"GIN with eps = {_number(self.eps)}"
        if self.mode == "remove" and not self.coloured:
            return "GNNs as strong as 1-WL, such as GIN"
        layer = " and one layer more" if self.mode == "zero" and self.depth else ""
        return f"GNNs as strong as 1-WL, such as GIN with eps = 0.5{layer}; GIN with eps = 0 may see less"

    def __str__(self) -> str:
        return "\n".join([*self._findings(), f"true of {self.gnn}"])

    def _findings(self) -> list[str]:
        depth = "any depth" if self.depth is None else f"depth {self.depth}"
        who = "1-WL" if self.eps is None else self.gnn
        if self.same is not None:
            how = "the same graph" if self.same == "equal" else "the same graph with its nodes in another order"
            return [f"A and B are {how}: nothing separates them"]
        if self.wl:
            return [f"{who} separates the pair ({depth}): no dropout is needed"]
        if self.k is None and not self.tried:
            return [f"{who} does not separate the pair ({depth}), and no dropouts were tried"]
        if self.k is None:
            nodes = "1 node" if self.tried == 1 else f"{self.tried} nodes"
            return [f"no dropout of up to {nodes} separates the pair ({depth}, {self.subsets:,} dropped sets each)"]
        what = "1 node" if self.k == 1 else f"{self.k} nodes"
        proof = "and no fewer" if self.proved else "and no fewer as far as 64-bit words can tell"
        first = f"{who} does not separate the pair; dropouts of {what} do ({depth}), {proof}"
        return [first, *self._about_the_telling_view()]

    def _about_the_telling_view(self) -> list[str]:
        if self.telling is None:
            return ["its most telling view was not looked for"]
        telling, (a, b) = self.telling, self.telling.probability
        where = "" if telling.nodes is None else " as seen from one node"
        return [
            f"most telling view{where}: {telling.times[0]} dropped sets show it in A, {telling.times[1]} in B; with p = {self.p} "
            f"that is {float(a):.3g} against {float(b):.3g}",
            f"about {telling.runs:,} runs tell the pair apart with error 1 % on either side",
        ]


def _number(value: Fraction) -> str:
    """As a decimal number where that is short, else as a fraction."""
    text = f"{float(value):g}"
    return text if Fraction(text) == value else str(value)
