"""``dropgnn distinguish``: can dropouts tell these two apart?"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.markup import escape

from dropgnn.cli.files import output_file

if TYPE_CHECKING:
    from dropgnn.data.pairs import Attributes, Pair
    from dropgnn.theory.distinguish import Verdict


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
    eps: Annotated[
        str | None,
        typer.Option(
            help="Decide it for GIN with this epsilon, 0 in the paper; by default for GNNs as strong as 1-WL."
        ),
    ] = None,
    p: Annotated[str | None, typer.Option(help="Dropout probability, e.g. 1/8; by default 1/n.")] = None,
    budget: Annotated[int, typer.Option(min=1, help="Dropped sets of a graph to try at most.")] = 5_000_000,
    ignore_attributes: Annotated[
        bool, typer.Option("--ignore-attributes", help="Leave out what files say about nodes and edges.")
    ] = False,
    picture: Annotated[Path | None, typer.Option(help="Draw the telling dropout into this file (.svg, .png).")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder with datasets; else DROPGNN_DATA, else the cache.")] = None,
) -> None:
    """Prove whether dropouts tell two graphs apart, how many nodes must drop, and how many runs that takes."""
    chance, epsilon = _probability(p), _epsilon(eps)
    check_pair(a, b)
    if picture is not None:
        output_file("picture", picture, ".svg", ".png")
    pair, attributes = load_pair(a, b, data, ignore_attributes=ignore_attributes)
    _check_nodes(nodes, pair)

    from dropgnn.errors import InvalidArgument
    from dropgnn.theory.distinguish import distinguish as decide

    console = Console()
    with console.status("looking") as status:
        try:
            verdict = decide(
                *pair, nodes=nodes, max_k=max_k, depth=depth, mode=mode, p=chance, eps=epsilon,
                budget=budget, on_size=lambda text: status.update(f"trying {text}"),
            )  # fmt: skip
        except InvalidArgument as problem:
            raise _by_options(problem) from problem
    console.print(escape(str(verdict)), highlight=False, soft_wrap=True)
    if attributes is not None:
        _say(console, f"attributes of {attributes} (--ignore-attributes leaves them out)")
    if picture is not None:
        _draw(picture, verdict, pair)
        _say(console, f"{'The pair' if verdict.telling is None else 'The telling dropout'} is drawn in {picture}.")


def check_pair(a: str, b: str | None) -> None:
    """Whether there are such files or such a pair; asked before anything is imported that takes seconds."""
    from dropgnn.data.files import check_graph_file
    from dropgnn.data.pairs import check_name

    if b is None and not Path(a).suffix and not Path(a).exists():
        check_name(a)
        return
    for name in (a,) if b is None else (a, b):
        check_graph_file(Path(name))


def load_pair(a: str, b: str | None, data: Path | None, *, ignore_attributes: bool) -> tuple[Pair, Attributes | None]:
    """Two graphs, by file or by name, and the attributes of files, where there are any that count."""
    from dropgnn.data.files import read_graphs
    from dropgnn.data.pairs import as_structures, attributes_of, named_pair
    from dropgnn.errors import DataProblem

    if b is None and not Path(a).is_file():
        first, second = named_pair(a, data)
        if ignore_attributes:
            _check_effect(first.has_colours or second.has_colours)
            return (first.plain(), second.plain()), None
        return (first, second), None
    graphs = read_graphs(Path(a))
    if b is not None:
        graphs = [graphs[0], read_graphs(Path(b))[0]]
    if len(graphs) < 2:
        raise DataProblem(f"{a} holds one graph; name a second file")
    pair, names = as_structures(graphs[0], graphs[1], attributes=not ignore_attributes), attributes_of(graphs[0])
    has_any = any(map(any, (names, attributes_of(graphs[1]))))
    if ignore_attributes:
        _check_effect(has_any)
    return pair, names if has_any and not ignore_attributes else None


def _check_effect(has_attributes: bool) -> None:
    from dropgnn.errors import InvalidArgument

    if not has_attributes:
        rule = "must be left out where neither graph has attributes: it would do nothing"
        raise InvalidArgument("--ignore-attributes", rule, got="no attributes")


def _check_nodes(nodes: tuple[int, int] | None, pair: Pair) -> None:
    from dropgnn.errors import InvalidArgument

    sizes = [graph.num_nodes for graph in pair]
    if nodes is not None and not all(0 <= node < size for node, size in zip(nodes, sizes, strict=True)):
        rules = [f"a node of {name}, 0 to {size - 1}" for name, size in zip("AB", sizes, strict=True)]
        raise InvalidArgument("--nodes", f"must be {rules[0]}, and {rules[1]}", got=f"{nodes[0]} {nodes[1]}")


def _by_options(problem: Exception) -> Exception:
    """The same problem in the words of the command line."""
    from dropgnn.errors import DropGNNError

    text = re.sub(r"'(max_k|depth|p|eps|budget|nodes)'", r"'--\1'", str(problem))
    text = re.sub(r"(?<!-)\b(raise|take) (budget|max_k)( =)?", r"\1 --\2", text)
    return DropGNNError(text.replace("--max_k", "--max-k"))


def _probability(text: str | None) -> Fraction | None:
    from dropgnn.errors import InvalidArgument

    value = None if text is None else _fraction(text)
    if text is not None and (value is None or not 0 < value < 1):
        raise InvalidArgument("--p", "must be a number between 0 and 1, e.g. 0.1 or 1/8", got=text)
    return value


def _epsilon(text: str | None) -> Fraction | None:
    from dropgnn.errors import InvalidArgument

    value = None if text is None else _fraction(text)
    if text is not None and (value is None or value < -1):
        raise InvalidArgument("--eps", "must be a number of at least -1, e.g. 0 or 0.5", got=text)
    return value


def _fraction(text: str) -> Fraction | None:
    """A number in decimals or as a fraction; ``None`` for what is neither, or too small or too large for a float."""
    try:
        if re.fullmatch(r"-?[0-9]{1,30}/[0-9]{1,30}", text):
            return Fraction(text)
        rounded = float(text)
        if len(text) > 40 or not math.isfinite(rounded) or (rounded == 0 and re.search("[1-9]", text.split("e")[0])):
            return None
        return Fraction(text)
    except (ValueError, ZeroDivisionError, OverflowError):
        return None


def _say(console: Console, text: str) -> None:
    console.print(escape(text), style="dim", highlight=False, soft_wrap=True)


def _draw(picture: Path, verdict: Verdict, pair: Pair) -> None:
    from dropgnn.report.pictures import svg
    from dropgnn.report.verdict import verdict_picture

    figure = verdict_picture(verdict, *pair)
    if picture.suffix == ".svg":
        picture.write_text(svg(figure), encoding="utf-8")
    else:
        figure.savefig(picture, dpi=150, bbox_inches="tight")
