"""``dropgnn data``: which datasets are there, and what is in them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from torch import Tensor

    from dropgnn.data.datasets import Dataset

commands = typer.Typer(help="Graph classification datasets: what is there, and what is in it.", no_args_is_help=True)

Folder = Annotated[Path | None, typer.Option(help="Folder with datasets; else DROPGNN_DATA, else the cache.")]


@commands.command("list")
def list_datasets(data: Folder = None) -> None:
    """The paper's datasets with their statistics, as far as they are there."""
    from dropgnn.data.datasets import PAPER, load_dataset
    from dropgnn.errors import DataProblem

    console, table, missing = Console(), _table(), []
    for name in PAPER:
        try:
            _add(table, load_dataset(name, data=data, download=False))
        except DataProblem:
            missing.append(name)
    if table.rows:
        console.print(table)
    if missing:
        console.print(f"not found: {', '.join(missing)}; pass --data DIR or set DROPGNN_DATA", highlight=False)


@commands.command()
def show(
    name: Annotated[str, typer.Argument(help="A dataset's name, or a folder with one.")],
    data: Folder = None,
    features: Annotated[
        str | None, typer.Option(help="labels, attributes, labels+attributes, degree or constant.")
    ] = None,
    filter: Annotated[str | None, typer.Option(help="none, at-most-70-nodes or proteins.")] = None,
    edge_features: Annotated[bool, typer.Option("--edge-features", help="Labels of edges become features.")] = False,
) -> None:
    """The statistics of one dataset, and how it was made."""
    from dropgnn.data.datasets import load_dataset

    dataset = load_dataset(name, data=data, features=features, filter=filter, edge_features=edge_features)
    table, console = _table(), Console()
    _add(table, dataset)
    console.print(table)
    for note in dataset.notes:
        console.print(f"  {note}", highlight=False)
    sizes = ", ".join(f"{number} of class {label}" for label, number in enumerate(dataset.graphs.y.bincount().tolist()))
    console.print(f"  {sizes}", highlight=False)


def _table() -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("dataset", no_wrap=True)
    for heading in ("graphs", "classes", "features", "nodes", "mean", "largest degree", "mean"):
        table.add_column(heading, justify="right")
    return table


def _add(table: Table, dataset: Dataset) -> None:
    graphs = dataset.graphs
    counts = (len(graphs), dataset.num_classes, graphs.x.size(1))
    table.add_row(dataset.name, *map(str, counts), *_range(graphs.nodes), *_range(dataset.largest_degrees))


def _range(values: Tensor) -> tuple[str, str]:
    return f"{int(values.min())} to {int(values.max())}", f"{float(values.double().mean()):.2f}"
