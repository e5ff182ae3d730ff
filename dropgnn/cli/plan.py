"""``dropgnn plan``: which p, how many runs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from dropgnn.theory.plan import RunPlan

TASKS = ("limits1", "limits2", "four_cycles", "lcc", "triangles", "skip_circles")
"""The synthetic tasks, of which dropgnn.data.synthetic cannot be asked before torch is imported; a test compares the two."""


def plan(
    source: Annotated[
        str, typer.Argument(help="A file (.g6, .graphml, .edges, .csv, .txt) or a dataset: lcc, MUTAG, ...")
    ],
    hops: Annotated[int, typer.Option(min=1, help="Radius of the neighbourhood of interest.")] = 2,
    reduce: Annotated[Literal["mean", "max"], typer.Option(help="gamma over all nodes.")] = "mean",
    delta: Annotated[float, typer.Option(help="Theorems 1 and 2: allowed relative deviation.")] = 0.5,
    t: Annotated[float, typer.Option(help="Theorems 1 and 2: failure probability at most 1/t.")] = 100.0,
    data: Annotated[Path | None, typer.Option(help="Folder with datasets; else DROPGNN_DATA, else the cache.")] = None,
) -> None:
    """Print the paper's advice for real graphs: gamma, p*, the number of runs."""
    _check(source, delta, t, data)
    console = Console()
    with Console(stderr=True).status("reading"):
        graphs = _graphs(source, data)

    with Console(stderr=True).status("counting neighbours"):
        from dropgnn.theory.plan import RunPlan

        advice = RunPlan.of(graphs, hops=hops, reduce=reduce)
    table = Table(box=box.SIMPLE_HEAD, title=escape(f"Plan for {source}"), title_justify="left", show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="dim")
    for row in _rows(advice, delta, t):
        table.add_row(*row)
    console.print(table)
    console.print(f"Theorems: delta = {delta:g}, failure probability at most 1/{t:g}.", style="dim", highlight=False)
    if len(advice.regions) > 1:
        console.print(_regions(advice))


def _check(source: str, delta: float, t: float, data: Path | None) -> None:
    """What can be wrong without looking into any file; asked before anything is imported that takes seconds."""
    from dropgnn.errors import InvalidArgument

    if not 0 < delta <= 1:
        raise InvalidArgument("delta", "must lie in (0, 1]", got=delta)
    if not 1 < t < math.inf:
        raise InvalidArgument("t", "must exceed 1 and be finite: failures have probability at most 1/t", got=t)
    if _is_file(source):
        from dropgnn.data.files import check_graph_file

        check_graph_file(Path(source))
    elif source not in TASKS:
        from dropgnn.data.locate import find_dataset
        from dropgnn.errors import DataProblem

        try:
            find_dataset(source, data, download=False)
        except DataProblem as problem:
            raise DataProblem(f"{problem}\nThe synthetic tasks are {', '.join(TASKS)}.") from None


def _is_file(source: str) -> bool:
    return source not in TASKS and (Path(source).is_file() or bool(Path(source).suffix))


def _graphs(source: str, data: Path | None) -> list[Data]:
    if _is_file(source):
        from dropgnn.data.files import read_graphs

        return read_graphs(Path(source))
    if source in TASKS:
        from dropgnn.data.synthetic import task

        return list(task(source, seed=0).graphs)
    from dropgnn.data.datasets import load_dataset

    return list(load_dataset(source, data=data, features="constant", filter="none", download=False).graphs)


def _rows(advice: RunPlan, delta: float, t: float) -> list[tuple[str, str, str]]:
    from dropgnn.theory.plan import probability_text

    rows = [
        ("graphs", f"{advice.graphs:,}", f"{advice.nodes:,} node{'' if advice.nodes == 1 else 's'}"),
        ("gamma", f"{advice.gamma:.2f}", f"{advice.reduce} size of {advice.hops}-hop neighbourhoods"),
        (
            "p*",
            probability_text(advice.p),
            f"1 / (1 + gamma), {'at most 1/2' if advice.gamma < 1 else 'best for 1-dropouts'}",
        ),
        ("r", f"{advice.runs:,}", "e (gamma + 1), each 1-dropout expected"),
    ]
    rows += [
        (f"r for one {k}-dropout", f"{advice.runs_to_see(k):,}", "to see a given one, in expectation")
        for k in (2, 3)
        if k <= advice.gamma
    ]
    ones, all_nodes = (
        "1-dropouts occur as often as expected",
        f"for the largest gamma, {max(advice.gammas)}, and its p*",
    )
    rows.append(("Theorem 1", f"{advice.theorem1(delta=delta, t=t):,}", ones))
    rows.append(("  for all nodes", f"{advice.theorem1(delta=delta, t=t, all_nodes=True):,}", all_nodes))
    if (1 - delta) * advice.gamma > 1:
        rows.append(("Theorem 2", f"{advice.theorem2(delta=delta, t=t):,}", "and all larger dropouts are rarer"))
        rows.append(("  for all nodes", f"{advice.theorem2(delta=delta, t=t, all_nodes=True):,}", all_nodes))
    else:
        rows.append(("Theorem 2", "-", "needs (1 - delta) gamma > 1"))
    return rows


def _regions(advice: RunPlan) -> Table:
    from dropgnn.theory.plan import probability_text

    table = Table(box=box.SIMPLE_HEAD, title="A p for each region", title_justify="left")
    for heading in ("neighbourhood", "nodes", "gamma", "p*"):
        table.add_column(heading, justify="right", no_wrap=True)
    for region in advice.regions:
        span = f"{region.smallest}" if region.smallest == region.largest else f"{region.smallest} to {region.largest}"
        table.add_row(span, f"{region.nodes:,}", f"{region.gamma:.2f}", probability_text(region.p))
    return table
