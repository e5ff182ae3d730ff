"""``dropgnn predict``: properties of molecules from a table with a column of SMILES."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from dropgnn.cli.files import input_file, looks_like_a_model, new_file
from dropgnn.cli.running import progress_bar
from dropgnn.errors import InvalidArgument

if TYPE_CHECKING:
    from dropgnn.molecules.seen import Seen

LONGEST = 200
"""Characters of a problem on the screen."""

SHOWN = 3
"""Rows unlike the training molecules that are named on the screen."""


def predict(
    model: Annotated[Path, typer.Argument(help="A file made by dropgnn train.")],
    molecules: Annotated[Path, typer.Argument(help="A CSV file with a column of SMILES.")],
    column: Annotated[str, typer.Option(help="The name of that column; capitals do not matter.")] = "smiles",
    out: Annotated[
        Path | None, typer.Option(help="The file to write; else NAME.predicted.csv beside the input.")
    ] = None,
) -> None:
    """Predict for every row that is a molecule; the others are kept with what is wrong with them."""
    _check_files(model, molecules)
    out = new_file(molecules.with_name(f"{molecules.stem}.predicted.csv") if out is None else out)

    from dropgnn.files import unfinished
    from dropgnn.molecules.table import check_new_columns, predict_row, read_table, writing

    table = read_table(molecules, column)

    from dropgnn.molecules.trained import TrainedModel, with_unit

    trained = TrainedModel.load(model)
    check_new_columns(molecules, table, trained)
    console, errors = (
        Console(stderr=stderr, soft_wrap=True, highlight=False, markup=False) for stderr in (False, True)
    )
    bad, remarked = 0, 0
    outside: list[tuple[int, str]] = []
    try:
        with writing(out, table, trained) as writer, progress_bar(errors, "molecules") as progress:
            for row in progress.track(table.rows, description="molecules"):
                answer = predict_row(row, table, trained)
                writer.write(answer)
                bad, remarked = bad + bool(answer.problem), remarked + bool(answer.remark)
                if answer.problem:
                    problem = textwrap.shorten(answer.problem, LONGEST, placeholder="...")
                    errors.print(f"{molecules}, line {row.line}: {problem}")
                if answer.outside:
                    outside.append((row.line, answer.outside))
    except KeyboardInterrupt as interrupt:
        errors.print(f"interrupted; what was predicted is in {unfinished(out)}")
        raise typer.Exit(130) from interrupt
    _report_outside(errors, trained.seen, outside, molecules, len(table.rows) - bad)
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


def _check_files(model: Path, molecules: Path) -> None:
    """Check that both files are there, and not the wrong way round."""
    input_file("model", model)
    input_file("molecules", molecules)
    if looks_like_a_model(model):
        return
    way_out = "dropgnn train writes one"
    if looks_like_a_model(molecules):
        way_out = f"the two files are the wrong way round: dropgnn predict {molecules} {model}"
    raise InvalidArgument("model", "must be a file made by dropgnn train", got=model, hint=way_out)


def _report_outside(
    errors: Console, seen: Seen | None, outside: list[tuple[int, str]], molecules: Path, predicted: int
) -> None:
    """Say once how many molecules are unlike those that the model was trained on, and name the first."""
    if seen is None:
        errors.print(
            "the model's file does not record the sizes and elements it was trained on: molecules outside of them are "
            "not marked"
        )
        return
    if not outside:
        return
    errors.print(
        f"{len(outside)} of {predicted} predictions are for molecules outside of those that the model was trained on "
        f"({seen}); their errors may be much larger"
    )
    for line, what in outside[:SHOWN]:
        errors.print(f"  {molecules}, line {line}: {what}")
    if len(outside) > SHOWN:
        errors.print(f"  and {len(outside) - SHOWN} more, see the column 'remark'")
