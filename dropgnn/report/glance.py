"""The results at a glance: for every table and figure of the paper our number, the paper's and a verdict, on one screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import mean
from typing import NamedTuple

from dropgnn.experiments.archive import Archive
from dropgnn.experiments.studies import STUDIES
from dropgnn.experiments.summary import Cell, Figure, Sheet, Summary

SLACK = 0.02
"""Accuracies that differ by less count as equal."""

VERDICTS = {
    "agrees": "within two of the paper's deviations",
    "above": "above the paper",
    "below": "below the paper",
    "": "not compared: trainings are missing, or the paper prints no deviation",
}


class Line(NamedTuple):
    """What was compared, and how it came out."""

    what: str
    ours: str
    paper: str
    verdict: str


def glance(archives: Sequence[Archive]) -> list[Line]:
    """The lines, in the order of the paper; of several runs of a study that which comes first in the report."""
    lines: list[Line] = []
    for name, lines_of in OF_STUDY.items():
        archive = next((one for one in archives if one.study == name and one.found), None)
        if archive is not None:
            lines += lines_of(STUDIES[name].summarize(archive.found))
    return lines


def _table1(parts: Summary) -> Iterator[Line]:
    sheet = _sheet(parts[0])
    at = sheet.columns.index("+ dropout")
    yield from (_line(f"Table 1, {task}", cells[at]) for task, cells in sheet.rows)


def _table2(parts: Summary) -> Iterator[Line]:
    sheet = _sheet(parts[0])
    cells = next((cells for name, cells in sheet.rows if name.startswith("DropGIN, random, O")), ())
    for dataset, cell in zip(sheet.columns, cells, strict=bool(cells)):
        yield _line(f"Table 2, {dataset}", cell)


def _table3(parts: Summary) -> Iterator[Line]:
    """On how many properties dropouts lower the error; errors themselves are of fewer molecules than the paper's."""
    sheet = _sheet(parts[1])
    if "Drop-1-GNN" not in sheet.columns:
        return
    cells = [cells[sheet.columns.index("Drop-1-GNN")] for _, cells in sheet.rows]
    cells = [cell for cell in cells if cell.values and cell.paper is not None]
    ours, paper = sum(cell.mean < 1 for cell in cells), sum(cell.paper.mean < 1 for cell in cells if cell.paper)
    many = f"of {len(cells)} properties"
    what = "Table 3, Drop-1-GNN's error below 1-GNN's"
    yield Line(what, f"{ours} {many}", f"{paper} {many}", "not compared: fewer molecules and epochs, see below")


def _figure_runs(parts: Summary) -> Iterator[Line]:
    for name, means in _curves(parts[0]):
        few, many = means[min(means)], means[max(means)]
        ours = f"{few:.2f} with {min(means):g} run, {many:.2f} with {max(means):g}"
        holds = many > few + SLACK and many >= max(means.values()) - SLACK
        yield Line(f"Runs in testing, {name}", ours, "more runs, higher accuracy", _holds(holds))


def _figure_p(parts: Summary) -> Iterator[Line]:
    for name, means in _curves(parts[0]):
        best, last = max(means.values()), max(means)
        good = [p for p, accuracy in means.items() if accuracy >= best - 2 * SLACK]
        lowest = min(accuracy for p, accuracy in means.items() if min(good) <= p <= max(good))  # a curve may dip
        ours = f"at least {lowest:.2f} for p from {min(good):g} to {max(good):g}, {means[last]:.2f} at {last:g}"
        holds = len(good) > 1 and means[last] < best - 2 * SLACK
        yield Line(f"Dropout probability, {name}", ours, "robust until p is very large", _holds(holds))


OF_STUDY = {
    "table1": _table1,
    "table2": _table2,
    "table3": _table3,
    "figure-runs": _figure_runs,
    "figure-p": _figure_p,
}


def _line(what: str, cell: Cell) -> Line:
    return Line(what, str(cell), str(cell.paper), VERDICTS[cell.verdict])


def _sheet(part: Sheet | Figure) -> Sheet:
    assert isinstance(part, Sheet)
    return part


def _curves(part: Sheet | Figure) -> Iterator[tuple[str, dict[float, float]]]:
    """The mean at every x, of complete curves. The paper prints these as pictures, without numbers."""
    assert isinstance(part, Figure)
    for curve in part.curves:
        if all(values for _, values in curve.points):
            yield curve.name, {x: mean(values) for x, values in curve.points}


def _holds(holds: bool) -> str:
    return "the same" if holds else "not the same"
