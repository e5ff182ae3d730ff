"""Self-contained HTML pages: no script, no font and no picture from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

STYLE = """
:root { --ink: #1d2733; --soft: #5b6876; --line: #dfe4ea; --paper: #ffffff; --accent: #c8502d; --calm: #2b6ca3; }
* { box-sizing: border-box; }
body { margin: 0; background: #f4f6f8; color: var(--ink); font: 17px/1.6 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; }
main { max-width: 66rem; margin: 2rem auto; padding: 2.5rem 3rem; background: var(--paper);
  border: 1px solid var(--line); border-radius: 8px; }
h1 { font-size: 1.9rem; line-height: 1.25; margin: 0 0 .6rem; }
h2 { font-size: 1.3rem; margin: 2.6rem 0 .6rem; }
p { max-width: 46rem; }
p.lead { font-size: 1.1rem; color: var(--soft); }
figure { margin: 1.2rem 0; }
figure svg { max-width: 100%; height: auto; display: block; }
figcaption { color: var(--soft); font-size: .95rem; max-width: 46rem; margin-top: .5rem; }
table { border-collapse: collapse; margin: 1.2rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .4rem .9rem; border-bottom: 1px solid var(--line); text-align: right; }
th:first-child, td:first-child { text-align: left; }
thead th { font-weight: 600; border-bottom: 2px solid var(--ink); }
td.soft { color: var(--soft); }
tr.best td { font-weight: 650; color: var(--accent); }
tr.best td.soft { font-weight: 400; color: var(--soft); }
th { vertical-align: bottom; }
td small { display: block; color: var(--soft); font-size: .8em; }
.agrees { background: #e5f3ea; } .above { background: #e3eefa; } .below { background: #fbe6e0; }
p span { padding: .1em .4em; border-radius: 4px; }
.scrolling { overflow-x: auto; }
.scrolling table { font-size: .92rem; }
.scrolling th, .scrolling td { padding: .4rem .55rem; }
.scrolling td { white-space: nowrap; }
.scrolling td:first-child { white-space: normal; }
.words table { width: 100%; }
.words th, .words td { white-space: normal; text-align: left; }
code { background: #eef1f4; padding: .1em .35em; border-radius: 4px; font-size: .92em; overflow-wrap: anywhere; }
footer { margin-top: 3rem; color: var(--soft); font-size: .9rem; border-top: 1px solid var(--line); padding-top: 1rem; }
@media (max-width: 44rem) {
  main { margin: 0; padding: 1.2rem 1rem; border-width: 0; border-radius: 0; }
  h1 { font-size: 1.5rem; }
  figure { margin: 1.2rem -.6rem; }
  figcaption { margin: .5rem .6rem 0; }
  .scrolling table { font-size: .78rem; }
  .scrolling th, .scrolling td { padding: .35rem .3rem; }
}
"""


class Marked(NamedTuple):
    """The text of a table's cell, and its class."""

    text: str
    mark: str


def page(title: str, body: str) -> str:
    """A whole page around ``body``."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def paragraph(text: str, *, lead: bool = False) -> str:
    return f"<p{_class('lead', lead)}>{text}</p>"


def figure(svg: str, caption: str) -> str:
    """A picture and what one sees in it."""
    return f"<figure>\n{svg}\n<figcaption>{caption}</figcaption>\n</figure>"


def table(
    head: Sequence[str], rows: Sequence[Sequence[str | Marked]], *, soft: Sequence[int] = (), best: int | None = None
) -> str:
    """Rows of text; the columns ``soft`` stand back, the row ``best`` stands out."""
    lines = ["<table>", "<thead><tr>" + "".join(f"<th>{cell}</th>" for cell in head) + "</tr></thead>", "<tbody>"]
    for number, row in enumerate(rows):
        cells = "".join(_cell(cell, soft=column in soft) for column, cell in enumerate(row))
        lines.append(f"<tr{_class('best', number == best)}>{cells}</tr>")
    return "\n".join([*lines, "</tbody>", "</table>"])


def scrolling(inner: str, *, words: bool = False) -> str:
    """Something wide, which scrolls by itself instead of the page; a table of ``words`` breaks its lines instead."""
    return f'<div class="scrolling{" words" if words else ""}">\n{inner}\n</div>'


def _cell(cell: str | Marked, *, soft: bool) -> str:
    text, mark = cell if isinstance(cell, Marked) else (cell, "soft" if soft else "")
    return f"<td{_class(mark, bool(mark))}>{text}</td>"


def _class(name: str, applies: bool) -> str:
    return f' class="{name}"' if applies else ""
