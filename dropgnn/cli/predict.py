"""``dropgnn predict``: properties of molecules from a table with a column of SMILES."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from dropgnn.cli.qm9 import bar


def predict(
    model: Annotated[Path, typer.Argument(help="A file made by dropgnn train.")],
    molecules: Annotated[Path, typer.Argument(help="A CSV file with a column of SMILES.")],
    column: Annotated[str, typer.Option(help="The name of that column; capitals do not matter.")] = "smiles",
    out: Annotated[Path | None, typer.Option(help="Where to; else beside the input, as NAME.predicted.csv.")] = None,
) -> None:
    """Predict for every row that is a molecule; the others are kept with what is wrong with them."""
    from dropgnn.errors import InvalidArgument
    from dropgnn.molecules.table import predict_row, read_table, write_table
    from dropgnn.molecules.trained import TrainedModel, with_unit

    out = molecules.with_name(f"{molecules.stem}.predicted.csv") if out is None else out
    if out.exists():
        raise InvalidArgument("out", "must not exist yet", got=out, hint="choose another file, or remove it")
    trained = TrainedModel.load(model)
    table = read_table(molecules, column, trained)
    console, errors = Console(), Console(stderr=True)
    rows = []
    with bar(errors, "molecules") as progress:
        for row in progress.track(table.rows, description="molecules"):
            rows.append(predict_row(row, table, trained))
            if rows[-1].problem:
                errors.print(f"{molecules}, line {row.line}: {rows[-1].problem}", highlight=False, markup=False)
    write_table(out, table, rows, trained)
    bad = sum(bool(row.problem) for row in rows)
    console.print(f"{len(rows) - bad} of {len(rows)} molecules predicted, in {out}", highlight=False)
    console.print(
        "coordinates were made by RDKit (ETKDG, MMFF); the model was trained on DFT geometries", highlight=False
    )
    for name, error in zip(trained.settings.targets, trained.test, strict=True):
        console.print(f"  {name}: off by {with_unit(name, error)} in the mean on QM9's test molecules", highlight=False)
    if bad:
        raise typer.Exit(1)
