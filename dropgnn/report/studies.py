"""The page of ``dropgnn report``: every study that has results, beside the paper's values, and how to make it again."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from dropgnn.experiments.archive import Archive, load_archive
from dropgnn.experiments.studies import STUDIES
from dropgnn.experiments.summary import Cell, Figure, Sheet
from dropgnn.report import html
from dropgnn.report.curves import BAND, draw
from dropgnn.report.glance import glance
from dropgnn.report.pictures import svg

LEGEND = (
    '<span class="agrees">within two of the paper\'s standard deviations</span> '
    '<span class="above">above</span> <span class="below">below</span>; the paper\'s value stands underneath.'
)


SETTINGS = {
    "published": "settings of the published code",
    "paper": "settings of the paper's text",
    "no-auxiliary": "settings of the paper's text, without its auxiliary loss",
}
"""What to call presets."""


def archives_in(folder: Path) -> list[Archive]:
    """All studies' files of a folder, in the order of the studies, complete ones before parts; other files are left alone."""
    found = [
        load_archive(path)
        for path in folder.glob("*.json")
        if any(path.stem == name or path.stem.startswith(f"{name}-") for name in STUDIES)
    ]
    return sorted(found, key=lambda one: (list(STUDIES).index(one.study), len(_options(one)), one.name))


def heading(archive: Archive) -> str:
    """The study's title, and what is special about this run of it: its command's options, in words."""
    options = _options(archive)
    special = [SETTINGS[options.pop("preset")]]
    special += [f"{name.replace('-', ' ')} {value.replace(',', ', ')}".strip() for name, value in options.items()]
    return f"{STUDIES[archive.study].title} ({'; '.join(special)})"


def _options(archive: Archive) -> dict[str, str]:
    """The options of a study's command, and always the preset."""
    _, *options = archive.command.split(" --")
    return {"preset": "published"} | {name: value for name, _, value in (one.partition(" ") for one in options)}


def report_page(archives: Sequence[Archive]) -> str:
    """The whole page; without results it says how to get some."""
    body = [
        "<h1>DropGNN: the paper's experiments on this code</h1>",
        html.paragraph(
            "Mean and standard deviation over seeds (Table 2: folds). Every number can be made again with the command above its "
            "table; finished trials are kept, so a second run only does what is missing.",
            lead=True,
        ),
    ]
    if archives:
        rows: list[list[str | html.Marked]] = [list(map(escape, line)) for line in glance(archives)]
        body.append(html.scrolling(html.table(["", "here", "the paper", ""], rows), words=True))
        body.append(html.paragraph(LEGEND))
    else:
        body.append(
            html.paragraph("There are no results yet. <code>dropgnn reproduce table1 --quick</code> makes some.")
        )
    for archive in archives:
        body += _section(archive)
    body.append(
        "<footer>Paper: Papp, Martinkus, Faber, Wattenhofer, <em>DropGNN: Random Dropouts Increase the Expressiveness of "
        "Graph Neural Networks</em>, NeurIPS 2021.</footer>"
    )
    return html.page("DropGNN: results", "\n".join(body))


def how_made(archive: Archive) -> str:
    """Command, size, duration and versions in a line."""
    hours = sum(one.seconds for one in archive.found) / 3600
    state = f"{len(archive.found)} of {archive.planned} trainings" + " so far" * (len(archive.found) < archive.planned)
    versions = ", ".join(f"{name} {version}" for name, version in archive.made_by.items())
    return f"{state}, {hours:.2f} core-hours; {versions}"


def _section(archive: Archive) -> list[str]:
    study = STUDIES[archive.study]
    lines = [
        f"<h2>{escape(heading(archive))}</h2>",
        html.paragraph(f"<code>{escape(archive.command)}</code><br>{escape(how_made(archive))}"),
    ]
    for part in study.summarize(archive.found):
        lines.append(_sheet(part, study.title) if isinstance(part, Sheet) else _figure(part))
    return lines


def _sheet(sheet: Sheet, study: str) -> str:
    sheet, name = sheet.upright(), sheet.title.removeprefix(study).lstrip(", ")
    rows: list[list[str | html.Marked]] = [[escape(name), *map(_cell, cells)] for name, cells in sheet.rows]
    return html.scrolling(
        f"<h3>{escape(name[:1].upper() + name[1:])}</h3>"
        + html.table(["", *map(escape, sheet.columns)], rows)
        + (html.paragraph(f"{escape(sheet.note)}.") if sheet.note else "")
    )


def _cell(cell: Cell) -> html.Marked:
    below = "" if cell.paper is None else f"<small>{cell.paper}</small>"
    return html.Marked(f"{cell}{below}", cell.verdict)


def _figure(figure: Figure) -> str:
    bands = f" Lines: means; bands: from the {BAND[0]}th to the {BAND[1]}th percentile." * (not figure.shares_panels)
    caption = f"{figure.title}.{bands} {figure.note}."
    return html.figure(svg(draw(figure)), escape(caption))
