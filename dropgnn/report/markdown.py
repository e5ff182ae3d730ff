"""``docs/results.md``: the same summaries for readers of the repository."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path

from dropgnn.experiments.archive import Archive
from dropgnn.experiments.studies import STUDIES
from dropgnn.experiments.summary import Cell, Sheet
from dropgnn.report.curves import draw
from dropgnn.report.glance import glance
from dropgnn.report.pictures import svg
from dropgnn.report.studies import heading, how_made

HEAD = """# Results

For every table and figure of the paper, DropGNN's numbers here and there. How each was made, all rivals, other settings and more
readings follow below.
"""

BEHIND = """## How to read the rest

Made by `dropgnn report --markdown docs/results.md` from the files in `results/`. Mean and standard deviation over seeds
(Table 2: folds); the paper's value in parentheses, in bold where ours is more than two of its standard deviations away. Of each
study the published settings come first, where they were run, then those of the paper's text.
"""


def write_markdown(path: Path, archives: Sequence[Archive]) -> None:
    """Write the document, and its figures into ``pictures`` beside it."""
    lines = [HEAD, "| | here | the paper | |", "|---|---|---|---|"]
    lines += [f"| {' | '.join(line)} |" for line in glance(archives)]
    lines += ["", BEHIND]
    for archive in archives:
        study = STUDIES[archive.study]
        lines += [f"## {heading(archive)}", "", f"`{archive.command}`: {how_made(archive)}.", ""]
        numbers = count(1)
        for part in study.summarize(archive.found):
            if isinstance(part, Sheet):
                lines += [*_table(part), ""]
                continue
            number = next(numbers)
            picture = Path("pictures") / f"{archive.name}{f'-{number}' if number > 1 else ''}.svg"
            (path.parent / picture).parent.mkdir(parents=True, exist_ok=True)
            (path.parent / picture).write_text(svg(draw(part)), encoding="utf-8")
            lines += [f"![{part.title}]({picture.as_posix()})", "", f"{part.title}: {part.note}.", ""]
    path.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


def _table(sheet: Sheet) -> list[str]:
    sheet = sheet.upright()
    lines = [
        f"**{sheet.title}**",
        "",
        "| | " + " | ".join(sheet.columns) + " |",
        "|---" * (len(sheet.columns) + 1) + "|",
    ]
    lines += [f"| {name} | " + " | ".join(map(_cell, cells)) + " |" for name, cells in sheet.rows]
    return [*lines, "", *([f"{sheet.note}."] if sheet.note else [])]


def _cell(cell: Cell) -> str:
    if cell.paper is None:
        return str(cell)
    paper = f"({cell.paper})"
    return f"{cell} {f'**{paper}**' if cell.verdict in ('above', 'below') else paper}"
