"""Tables of molecules: CSV files with a column of SMILES in, the same with predictions out. No row is lost."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from dropgnn.data.qm9.smiles import molecule_from_smiles
from dropgnn.data.qm9.targets import TARGETS
from dropgnn.errors import DataProblem
from dropgnn.molecules.trained import Prediction, TrainedModel

PROBLEM = "problem"


class Row(NamedTuple):
    """A row as it is in the file, and the line it ends on."""

    line: int
    fields: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A file's header and rows, and which column has the SMILES."""

    header: tuple[str, ...]
    rows: tuple[Row, ...]
    smiles: int


class Answer(NamedTuple):
    """What is said about a row: predictions, or what is wrong with it."""

    row: Row
    predictions: dict[str, Prediction]
    problem: str = ""


def read_table(path: Path, column: str, trained: TrainedModel) -> Table:
    """Read a file; ``column`` is found whatever its capitals. Blank lines are no rows."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as text:
            reader = csv.reader(text, strict=True)
            lines = [Row(reader.line_num, tuple(fields)) for fields in reader if any(map(str.strip, fields))]
    except OSError as problem:
        raise DataProblem(f"{path} cannot be read ({problem.strerror})") from problem
    except (csv.Error, UnicodeDecodeError) as problem:
        raise DataProblem(f"{path} is not a CSV file in UTF-8 ({problem})") from problem
    if not lines:
        raise DataProblem(f"{path} is empty; it needs a header with a column '{column}'")
    header = tuple(name.strip() for name in lines[0].fields)
    found = [number for number, name in enumerate(header) if name.lower() == column.lower()]
    if len(found) != 1:
        state = "no column" if not found else f"{len(found)} columns"
        raise DataProblem(f"{path} has {state} '{column}' among {', '.join(header)}; name the right one with --column")
    if clash := sorted(set(header) & set(_added(trained))):
        raise DataProblem(f"{path} already has a column '{clash[0]}', which would be written; rename it")
    return Table(header, tuple(lines[1:]), found[0])


def predict_row(row: Row, table: Table, trained: TrainedModel) -> Answer:
    """Predictions for one row, or what is wrong with it."""
    surplus = row.fields[len(table.header) :]
    if len(row.fields) != len(table.header):
        more = f": {', '.join(surplus)} too many" if surplus else ""
        return Answer(row, {}, f"{len(row.fields)} fields where the header has {len(table.header)}{more}")
    try:
        return Answer(row, trained.predict(molecule_from_smiles(row.fields[table.smiles])))
    except DataProblem as problem:
        return Answer(row, {}, str(problem))


def write_table(path: Path, table: Table, answers: Sequence[Answer], trained: TrainedModel) -> None:
    """All rows as they were, in their order, with predictions, their spread over runs, and problems behind."""
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")
    with beside.open("w", encoding="utf-8", newline="") as text:
        writer = csv.writer(text)
        writer.writerow([*table.header, *_added(trained)])
        for answer in answers:
            known = answer.row.fields[: len(table.header)]
            fields = [*known, *[""] * (len(table.header) - len(known))]
            values = []
            for name in trained.settings.targets:
                found = answer.predictions.get(name)
                values.append("" if found is None else f"{found.value:.6g}")
                if trained.settings.drops != "none":
                    values.append("" if found is None or found.spread is None else f"{found.spread:.6g}")
            writer.writerow([*fields, *values, answer.problem])
    beside.replace(path)


def _added(trained: TrainedModel) -> list[str]:
    """The names of the columns that are added.

    With dropouts, every target has its spread over runs beside it.
    """
    names = []
    for target in trained.settings.targets:
        names.append(f"{target} [{TARGETS[target].unit}]")
        if trained.settings.drops != "none":
            names.append(f"{target} spread [{TARGETS[target].unit}]")
    return [*names, PROBLEM]
