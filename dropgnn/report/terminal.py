"""Summaries of studies on the terminal."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table

from dropgnn.experiments.summary import Cell, Figure, Sheet, Summary

STYLES = {"agrees": "green", "above": "cyan", "below": "red", "": ""}


def show(console: Console, summary: Summary) -> None:
    """Print tables, and figures as tables."""
    for part in summary:
        console.print(_sheet(part) if isinstance(part, Sheet) else _figure(part))


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


def _figure(figure: Figure) -> Table:
    table = _table(figure.title, figure.note)
    table.add_column(figure.x, justify="right")
    for curve in figure.curves:
        table.add_column(curve.name, justify="right")
    for number, (x, _) in enumerate(figure.curves[0].points):
        values = [curve.points[number][1] for curve in figure.curves]
        table.add_row(f"{x:g}", *[str(Cell(some)) if some else "-" for some in values])
    return table


def _table(title: str, note: str) -> Table:
    return Table(
        title=title,
        title_justify="left",
        caption=note or None,
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=True,
    )
