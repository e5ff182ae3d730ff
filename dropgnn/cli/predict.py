"""``dropgnn predict``: properties of molecules from a table with a column of SMILES."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from dropgnn.cli.files import new_file
from dropgnn.cli.running import progress_bar

LONGEST = 200
"""Characters of a problem on the screen."""


def predict(
    model: Annotated[Path, typer.Argument(help="A file made by dropgnn train.")],
    molecules: Annotated[Path, typer.Argument(help="A CSV file with a column of SMILES.")],
    column: Annotated[str, typer.Option(help="The name of that column; capitals do not matter.")] = "smiles",
    out: Annotated[Path | None, typer.Option(help="Where to; else beside the input, as NAME.predicted.csv.")] = None,
) -> None:
    """Predict for every row that is a molecule; the others are kept with what is wrong with them."""
    from dropgnn.files import unfinished
    from dropgnn.molecules.table import predict_row, read_table, writing
    from dropgnn.molecules.trained import TrainedModel, with_unit

    trained = TrainedModel.load(model)
    table = read_table(molecules, column, trained)
    out = new_file(molecules.with_name(f"{molecules.stem}.predicted.csv") if out is None else out)
    console, errors = (
        Console(stderr=stderr, soft_wrap=True, highlight=False, markup=False) for stderr in (False, True)
    )
    bad, remarked = 0, 0
    try:
        with writing(out, table, trained) as writer, progress_bar(errors, "molecules") as progress:
            for row in progress.track(table.rows, description="molecules"):
                answer = predict_row(row, table, trained)
                writer.write(answer)
                bad, remarked = bad + bool(answer.problem), remarked + bool(answer.remark)
                if answer.problem:
                    problem = textwrap.shorten(answer.problem, LONGEST, placeholder="...")
                    errors.print(f"{molecules}, line {row.line}: {problem}")
    except KeyboardInterrupt as interrupt:
        errors.print(f"interrupted; what was predicted is in {unfinished(out)}")
        raise typer.Exit(130) from interrupt
    console.print(f"{len(table.rows) - bad} of {len(table.rows)} molecules predicted, in {out}")
    console.print("coordinates were made by RDKit (ETKDG, MMFF); the model was trained on DFT geometries")
    for name, error in zip(trained.settings.targets, trained.test, strict=True):
        console.print(f"  {name}: mean absolute error {with_unit(name, error)} on QM9's test molecules")
    for name, guide in trained.guides():
        console.print(f"  {name} spread: {guide}")
    if remarked:
        console.print(f"{remarked} of them have a remark, see the column 'remark'")
    if bad:
        raise typer.Exit(1)
