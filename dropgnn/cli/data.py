"""``dropgnn data``: which datasets are there, and what is in them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from dropgnn.cli.command import Command
from dropgnn.cli.files import input_folder
from dropgnn.cli.names import DATASETS, FEATURES, FILTERS, choices
from dropgnn.cli.qm9 import check_folder, load_qm9
from dropgnn.errors import DataMissing, DataProblem, InvalidArgument, one_of

if TYPE_CHECKING:
    from torch import Tensor

    from dropgnn.data.datasets import Dataset

commands = typer.Typer(help="Graph classification datasets: what is there, and what is in it.", no_args_is_help=True)

Folder = Annotated[Path | None, typer.Option(help="Folder with datasets; else DROPGNN_DATA, else the cache.")]


@commands.command("list", cls=Command)
def list_datasets(data: Folder = None) -> None:
    """List the datasets that are there with their statistics, the paper's first."""
    input_folder("data", data)

    from dropgnn.data.datasets import load_dataset
    from dropgnn.data.locate import datasets_at_hand

    console, table, missing, problems = Console(), _table(), [], []
    others = {name: folder for name, folder in datasets_at_hand(data).items() if name not in DATASETS}
    for name in (*DATASETS, *others):
        load = partial(load_dataset, str(others.get(name, name)), data=data, download=False)
        try:
            _add(table, load())
        except InvalidArgument:  # nothing is said about its nodes
            _add(table, load(features="constant"), features="-")
        except DataMissing:
            missing.append(name)
        except DataProblem as problem:
            problems.append(problem)
    if table.rows:
        console.print(table)
    if missing:
        console.print(f"not found: {', '.join(missing)}; pass --data DIR or set DROPGNN_DATA", highlight=False)
    if problems:
        raise DataProblem("\n".join(map(str, problems)))


@commands.command(cls=Command)
def show(
    name: Annotated[str, typer.Argument(help="A dataset's name, or a folder with one.")],
    data: Annotated[
        Path | None,
        typer.Option(help="Folder with datasets; else DROPGNN_DATA, else the cache. For qm9: PyG's folder of it."),
    ] = None,
    features: Annotated[
        str | None, typer.Option(help=f"What a GNN is given of a node: {choices(FEATURES)}; else the paper's choice.")
    ] = None,
    filter: Annotated[
        str | None, typer.Option(help=f"Graphs and nodes to keep: {choices(FILTERS)}; else the paper's choice.")
    ] = None,
    edge_features: Annotated[bool, typer.Option("--edge-features", help="Labels of edges become features.")] = False,
    download: Annotated[
        bool, typer.Option("--download", help="If it is not there, fetch it from the TU collection into the cache.")
    ] = False,
) -> None:
    """Show the statistics of one dataset and how it was made; qm9 stands for the molecules of Table 3."""
    input_folder("data", data)
    if name.lower() == "qm9":
        given = {"features": features, "filter": filter, "edge_features": edge_features, "download": download}
        for option, value in given.items():
            if value:
                raise InvalidArgument(option, "has no effect on qm9", got=value, hint="leave it out")
        check_folder(data)
        _show_molecules(data)
        return
    if features is not None:
        one_of("features", features, FEATURES)
    if filter is not None:
        one_of("filter", filter, FILTERS)
    if not download:
        _check_name(name, data)

    from dropgnn.data.datasets import FROM_TU, load_dataset
    from dropgnn.data.recipes import PAPER

    dataset = load_dataset(
        name, data=data, features=features, filter=filter, edge_features=edge_features, download=download
    )
    table, console = _table(), Console()
    _add(table, dataset)
    console.print(table)
    recipe = PAPER.get(dataset.name)
    remark = recipe.remark if recipe and filter in (None, recipe.filter) and FROM_TU not in dataset.notes else ""
    for note in (*dataset.notes, remark):
        if note:
            console.print(f"  {note}", highlight=False)
    sizes = ", ".join(f"{number} of class {label}" for label, number in enumerate(dataset.graphs.y.bincount().tolist()))
    console.print(f"  {sizes}", highlight=False)


def _check_name(name: str, data: Path | None) -> None:
    """Check that a dataset is there; one that could be downloaded is only downloaded where the user says so."""
    from dropgnn.data.locate import datasets_at_hand, find_dataset, paper_name

    try:
        find_dataset(name, data, download=False)
    except DataMissing as missing:
        if paper_name(name) in DATASETS:
            raise DataMissing(f"{missing}, or download it: dropgnn data show {name} --download") from None
        known = dict.fromkeys((*DATASETS, *datasets_at_hand(data), "qm9"))
        raise InvalidArgument(
            "name",
            f"must be one of {', '.join(known)}, or a folder with a dataset",
            got=repr(name),
            hint="any other dataset of the TU collection is downloaded with --download",
        ) from None


def _show_molecules(folder: Path | None) -> None:
    """QM9, from PyG's folder of it where one is given."""
    from dropgnn.data.qm9.targets import TARGETS

    molecules, console = load_qm9(folder), Console(highlight=False, soft_wrap=True)
    atoms = molecules.atoms
    console.print(
        f"{len(molecules):,} molecules of {atoms.min()} to {atoms.max()} atoms, {atoms.mean():.1f} on average"
    )
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("target", "", "unit"):
        table.add_column(heading)
    for heading in ("mean", "deviation"):
        table.add_column(heading, justify="right")
    for name, target in TARGETS.items():
        values = molecules.target(name)
        table.add_row(name, target.title, target.unit, f"{values.mean():.4g}", f"{values.std():.4g}")
    console.print(table)
    console.print(f"left out: {len(molecules.left_out)}")
    for one in molecules.left_out:
        console.print(f"  number {one.number} of GDB-9, {one.smiles}: {one.reason}", markup=False)


def _table() -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("dataset", no_wrap=True)
    for heading in ("graphs", "classes", "features", "nodes", "mean", "largest degree", "mean"):
        table.add_column(heading, justify="right")
    return table


def _add(table: Table, dataset: Dataset, *, features: str | None = None) -> None:
    graphs = dataset.graphs
    counts = (len(graphs), dataset.num_classes, features or graphs.x.size(1))
    table.add_row(dataset.name, *map(str, counts), *_range(graphs.nodes), *_range(dataset.largest_degrees))


def _range(values: Tensor) -> tuple[str, str]:
    return f"{int(values.min())} to {int(values.max())}", f"{float(values.double().mean()):.2f}"
