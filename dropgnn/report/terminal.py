"""Summaries of studies on the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.console import Console
from rich.table import Table

from dropgnn.experiments.summary import Cell, Figure, Sheet, Summary

STYLES = {"agrees": "green", "above": "cyan", "below": "red", "": ""}


def show(console: Console, summary: Summary) -> None:
    """Print tables, and figures as tables."""
    for part in summary:
        for table in [_sheet(part)] if isinstance(part, Sheet) else _figure(part):
            console.print(table)


def _sheet(sheet: Sheet) -> Table:
    """A line per cell, which fits any terminal; cells without results are left out, but in rows that are the paper's alone."""
    table = _table(sheet.title, sheet.note)
    compared = any(cell.paper for _, cells in sheet.rows for cell in cells)
    for heading in ("", "", "ours", *["paper"] * compared):
        table.add_column(heading, justify="right" if heading else "left")
    for name, cells in sheet.rows:
        reported = sheet.has_values and not any(cell.values for cell in cells)
        there = [
            (column, cell)
            for column, cell in zip(sheet.columns, cells, strict=True)
            if cell.values or (reported and cell.paper)
        ]
        for number, (column, cell) in enumerate(there):
            ours = f"[{STYLES[cell.verdict]}]{cell}[/]" if cell.verdict else str(cell)
            paper = ["" if cell.paper is None else f"[dim]{cell.paper}[/]"] * compared
            table.add_row("" if number else name, column, ours, *paper)
        table.add_section()
    return table


def _figure(figure: Figure) -> Iterator[Table]:
    """Curves that are alone are columns of one table; those that share a panel have one for themselves."""
    panels = figure.panels if figure.shares_panels else {"": list(figure.curves)}
    for number, (name, curves) in enumerate(panels.items(), start=1):
        last = number == len(panels)
        table = _table(f"{figure.title}, {name}" if name else figure.title, figure.note if last else "")
        table.add_column(figure.x, justify="right")
        for curve in curves:
            table.add_column(curve.name, justify="right")
        digits = 3 if name else 2
        for x in sorted({x for curve in curves for x, _ in curve.points}):
            table.add_row(f"{x:g}", *[str(Cell(curve.at(x), digits=digits)) for curve in curves])
        if any(curve.level is not None for curve in curves):
            table.add_row("dotted", *["-" if curve.level is None else f"{curve.level:.{digits}f}" for curve in curves])
        yield table


def _table(title: str, note: str) -> Table:
    return Table(
        title=title,
        title_justify="left",
        caption=note or None,
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=True,
    )
