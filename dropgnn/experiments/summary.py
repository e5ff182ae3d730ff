"""What a study found, as values: tables of accuracies beside the paper's, and curves with bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import mean, pstdev, stdev
from typing import Any

from dropgnn.experiments.paper import Printed

PRINTED_ZERO = 0.005
"""What a printed deviation of 0.00 may stand for."""

ROUNDING = 1e-5
"""What may be lost when numbers are kept with six digits."""


@dataclass(frozen=True)
class Found:
    """A finished trial, and the commit of the code that ran it, where that is known."""

    trial: Any
    result: Any
    seconds: float
    commit: str = ""


@dataclass(frozen=True)
class Cell:
    """One number over seeds, and the paper's where it printed one. With fewer than ``full`` values it says how many, and is not
    held against the paper's. A change has a sign, and the standard error of its mean instead of the deviation.

    >>> print(Cell((0.5, 0.7), full=2), "|", Cell((0.5, 0.7), full=10), "|", Cell((90.44,), digits=1), "|", Cell(()))
    0.60 ± 0.10 | 0.60 ± 0.10 (n = 2) | 90.4 | -
    >>> print(Cell((1.0, 2.0, 3.0, 4.0), digits=1, is_change=True), "|", Cell((-0.01,), digits=1, is_change=True))
    +2.5 ± 0.6 | +0.0
    """

    values: tuple[float, ...]
    paper: Printed | None = None
    full: int = 1
    digits: int = 2
    is_change: bool = False

    @property
    def mean(self) -> float:
        return mean(self.values)

    @property
    def deviation(self) -> float:
        return pstdev(self.values)

    @property
    def standard_error(self) -> float:
        """Of the mean, from two values on."""
        return stdev(self.values) / sqrt(len(self.values))

    @property
    def verdict(self) -> str:
        """How it stands to the paper: ``"agrees"`` within two of its deviations, else ``"above"`` or ``"below"``.

        >>> Cell((0.5, 0.5), Printed(0.5, 0.0)).verdict, Cell((1.0,), Printed(0.82, 0.05)).verdict, Cell((1.0,)).verdict
        ('agrees', 'above', '')
        >>> Cell((0.98,), Printed(1.0, 0.01)).verdict, Cell((0.97,), Printed(1.0, 0.01)).verdict
        ('agrees', 'below')
        """
        if self.paper is None or self.paper.deviation is None or len(self.values) < self.full:
            return ""
        if abs(self.mean - self.paper.mean) <= 2 * max(self.paper.deviation, PRINTED_ZERO) + ROUNDING:
            return "agrees"
        return "above" if self.mean > self.paper.mean else "below"

    def __str__(self) -> str:
        if not self.values:
            return "-"
        several = len(self.values) > 1
        few = f" (n = {len(self.values)})" * (len(self.values) < self.full)
        if self.is_change:
            error = f" ± {self.standard_error:.{self.digits}f}" if several else ""
            return f"{round(self.mean, self.digits) + 0.0:+.{self.digits}f}{error}{few}"  # and no -0.0
        return f"{Printed(self.mean, self.deviation if several else None, self.digits)}{few}"


@dataclass(frozen=True)
class Sheet:
    """A table: a row per task, a column per contestant."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    note: str = ""

    @property
    def has_values(self) -> bool:
        """Whether there is any result of ours in it."""
        return any(cell.values for _, cells in self.rows for cell in cells)

    def upright(self) -> Sheet:
        """The same with its longer side downwards, as it fits a page.

        >>> wide = Sheet("wide", ("a", "b"), (("one", (Cell((1.0,)), Cell((2.0,)))),))
        >>> [(name, [str(cell) for cell in cells]) for name, cells in wide.upright().rows]
        [('a', ['1.00']), ('b', ['2.00'])]
        """
        if len(self.columns) <= len(self.rows):
            return self
        cells = zip(*(cells for _, cells in self.rows), strict=True)
        rows = tuple(zip(self.columns, cells, strict=True))
        return Sheet(self.title, tuple(name for name, _ in self.rows), rows, self.note)


@dataclass(frozen=True)
class Curve:
    """A line: at every x the values of all seeds and tests.

    Args:
        name: What it is called.
        points: The values at every x.
        mark: An x worth marking, such as the default, where it has a panel of its own.
        panel: The small picture it shares with others; by default it has one of its own.
        level: A value worth a line across, where it shares one.
    """

    name: str
    points: tuple[tuple[float, tuple[float, ...]], ...]
    mark: float | None = None
    panel: str | None = None
    level: float | None = None

    def at(self, x: float) -> tuple[float, ...]:
        """The values there; none where it has no point."""
        return dict(self.points).get(x, ())


@dataclass(frozen=True)
class Figure:
    """Curves over one axis.

    Args:
        title: What it shows.
        x: What the axis is.
        curves: In the order of their panels.
        note: What there is to say.
        steps: Whether the x values are steps of a choice, drawn at equal distances, instead of lengths.
    """

    title: str
    x: str
    curves: tuple[Curve, ...]
    note: str = ""
    steps: bool = False

    @property
    def shares_panels(self) -> bool:
        """Whether panels are for several curves, even where so far there is one."""
        return any(curve.panel is not None for curve in self.curves)

    @property
    def panels(self) -> dict[str, list[Curve]]:
        """The curves of every small picture."""
        found: dict[str, list[Curve]] = {}
        for curve in self.curves:
            found.setdefault(curve.panel or curve.name, []).append(curve)
        return found


Summary = Sequence[Sheet | Figure]
