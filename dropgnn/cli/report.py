"""``dropgnn report``: one page from the result files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from dropgnn.cli.files import input_folder, output_file


def report(
    results: Annotated[
        Path, typer.Option(help="Folder with the studies' files, as dropgnn reproduce writes them.")
    ] = Path("results"),
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
    markdown: Annotated[
        Path | None, typer.Option(help="Also write the tables and figures as a Markdown document.")
    ] = None,
) -> None:
    """Make one self-contained HTML page of all studies that have results."""
    input_folder("results", results, hint="dropgnn reproduce writes one")
    for name, path in (("out", out), ("markdown", markdown)):
        if path is not None:
            output_file(name, path)

    from dropgnn.report.markdown import write_markdown
    from dropgnn.report.studies import archives_in, report_page

    archives = archives_in(results)
    out.write_text(report_page(archives), encoding="utf-8")
    if markdown is not None:
        write_markdown(markdown, archives)
    names = ", ".join(archive.study for archive in archives) or "no studies"
    Console().print(f"{names}: [bold]{escape(str(out))}[/]", highlight=False)
