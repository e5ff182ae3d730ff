"""``dropgnn distinguish``: can dropouts tell these two apart?"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.markup import escape

from dropgnn.cli.files import output_file

if TYPE_CHECKING:
    from dropgnn.theory.views import Structure


def distinguish(
    a: Annotated[
        str,
        typer.Argument(
            help="A file (.g6, .graphml, .edges, .csv, .txt), or a pair: "
            "brec:345, figure3:5, example1, example2, limits1, limits2."
        ),
    ],
    b: Annotated[str | None, typer.Argument(help="Another file; without it, the first two graphs of A.")] = None,
    nodes: Annotated[
        tuple[int, int] | None, typer.Option(help="Compare what a node of A and a node of B see (from 0).")
    ] = None,
    max_k: Annotated[int, typer.Option(min=0, help="Try dropouts of up to so many nodes.")] = 3,
    depth: Annotated[int | None, typer.Option(min=0, help="Layers of the GNN; by default as many as matter.")] = None,
    mode: Annotated[Literal["remove", "zero"], typer.Option(help="Dropped nodes vanish, or are zeroed.")] = "remove",
    p: Annotated[str | None, typer.Option(help="Dropout probability, e.g. 1/8; by default 1/n.")] = None,
    budget: Annotated[int, typer.Option(min=1, help="Dropped sets of a graph to try at most.")] = 5_000_000,
    picture: Annotated[Path | None, typer.Option(help="Draw the telling dropout into this file (.svg, .png).")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder with datasets; else DROPGNN_DATA, else the cache.")] = None,
) -> None:
    """Prove whether dropouts tell two graphs apart, how many nodes must drop, and how many runs that takes."""
    from dropgnn.theory.distinguish import distinguish as decide

    if picture is not None:
        output_file("picture", picture, ".svg", ".png")
    console = Console()
    first, second = load_pair(a, b, data)
    with console.status("looking") as status:
        verdict = decide(
            first, second, nodes=nodes, max_k=max_k, depth=depth, mode=mode, p=_probability(p),
            budget=budget, on_size=lambda text: status.update(f"trying {text}"),
        )  # fmt: skip
    console.print(escape(str(verdict)), highlight=False, soft_wrap=True)
    if picture is not None:
        _draw(picture, verdict, first, second)
        console.print(
            f"{'The pair' if verdict.telling is None else 'The telling dropout'} is drawn in {escape(str(picture))}.",
            style="dim",
            highlight=False,
            soft_wrap=True,
        )


def load_pair(a: str, b: str | None, data: Path | None) -> tuple[Structure, Structure]:
    """Two graphs, by file or by name."""
    from dropgnn.data.files import read_graphs
    from dropgnn.data.pairs import as_structures, named_pair
    from dropgnn.errors import DataProblem

    if b is None and not Path(a).is_file():
        return named_pair(a, data)
    graphs = read_graphs(Path(a))
    if b is not None:
        graphs = [graphs[0], read_graphs(Path(b))[0]]
    if len(graphs) < 2:
        raise DataProblem(f"{a} holds one graph; name a second file")
    return as_structures(graphs[0], graphs[1])


def _probability(text: str | None) -> Fraction | None:
    from dropgnn.errors import InvalidArgument

    if text is None:
        return None
    try:
        value = Fraction(text)
    except (ValueError, ZeroDivisionError):
        value = Fraction(-1)
    if not 0 < value < 1:
        raise InvalidArgument("p", "must be a number between 0 and 1, e.g. 0.1 or 1/8", got=text)
    return value


def _draw(picture: Path, verdict: object, a: Structure, b: Structure) -> None:
    from dropgnn.report.pictures import svg
    from dropgnn.report.verdict import verdict_picture

    figure = verdict_picture(verdict, a, b)  # type: ignore[arg-type]
    if picture.suffix == ".svg":
        picture.write_text(svg(figure), encoding="utf-8")
    else:
        figure.savefig(picture, dpi=150, bbox_inches="tight")
