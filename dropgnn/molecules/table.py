"""Tables of molecules: CSV files with a column of SMILES in, the same with predictions out. No row is lost."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from dropgnn.data.qm9.smiles import molecule_from_smiles
from dropgnn.data.qm9.targets import TARGETS
from dropgnn.errors import DataProblem, of_kind
from dropgnn.files import as_path, check_size, unfinished

if TYPE_CHECKING:
    from dropgnn.molecules.trained import Prediction, TrainedModel

REMARK, PROBLEM = "remark", "problem"
LARGEST_FIELD = 1 << 24
LONGEST_ROW = 1_000
"""The most lines a row may span. Without a limit a file with an open quote in every line would take quadratic time."""

NO_TEXT = {
    b"\x1f\x8b": "compressed; unpack it first",
    b"PK\x03\x04": "a ZIP archive or a spreadsheet; save it as CSV",
    b"\xff\xfe": "in UTF-16; save it in UTF-8",
    b"\xfe\xff": "in UTF-16; save it in UTF-8",
}
"""How files begin that are often taken for tables."""

SHOWN = 60
BYTES = "surrogateescape"


@dataclass(frozen=True)
class Row:
    """A row as it is in the file, the line it ends on, and what is wrong with it where it is no row of a CSV file."""

    line: int
    fields: tuple[str, ...]
    broken: str = ""


@dataclass(frozen=True)
class Table:
    """A file's header and rows, which column has the SMILES, and how lines end."""

    header: tuple[str, ...]
    rows: tuple[Row, ...]
    smiles: int
    newline: str


@dataclass(frozen=True)
class Answer:
    """What is said about a row: predictions, or what is wrong with it; ``outside``, a part of the remark, is what the model was
    not trained on."""

    row: Row
    predictions: dict[str, Prediction]
    remark: str = ""
    problem: str = ""
    outside: str = ""


def read_table(path: Path | str, column: str, trained: TrainedModel | None = None) -> Table:
    """Read a file; ``column`` is found whatever its capitals. Blank lines are no rows. With a model, columns that it adds must
    not be there yet."""
    path, column = as_path("path", path), of_kind("column", column, str)
    lines = _lines(path)
    rows = _parsed(lines)
    if not rows:
        raise DataProblem(f"{path} is empty; it needs a header with a column '{column}'")
    first = rows[0]
    if first.broken:
        raise DataProblem(
            f"{path} is not a CSV file: the header, {quoted(first.fields[0])}, is broken ({first.broken})"
        )
    header = tuple(name.strip() for name in first.fields)
    found = [number for number, name in enumerate(header) if name == column]
    found = found or [number for number, name in enumerate(header) if name.lower() == column.lower()]
    if len(found) != 1:
        state = "no column" if not found else f"{len(found)} columns"
        raise DataProblem(
            f"{path} has {state} '{column}' among {quoted(', '.join(header))}; {_way_out(header, column)}"
        )
    table = Table(header, tuple(rows[1:]), found[0], "\r\n" if lines[0].endswith("\r\n") else "\n")
    if trained is not None:
        check_new_columns(path, table, trained)
    return table


def check_new_columns(path: Path, table: Table, trained: TrainedModel) -> None:
    """Refuse a table that already has a column of the model's predictions."""
    if clash := sorted(set(table.header) & set(_added(trained))):
        raise DataProblem(f"{path} already has a column '{clash[0]}', which would be written; rename it")


def _way_out(header: Sequence[str], column: str) -> str:
    """What to do about a header in which a column is not there once."""
    if header.count(column) > 1:
        return "rename all but one"
    if len(header) == 1 and any(mark in header[0] for mark in ";\t|"):
        return "columns are separated by commas"
    return "name the right one with --column"


def _lines(path: Path) -> list[str]:
    try:
        check_size(path)
        # Bytes that are no UTF-8 are carried along, and written as they were.
        with path.open(encoding="utf-8-sig", errors=BYTES, newline="") as text:
            lines = text.readlines()
    except OSError as problem:
        raise DataProblem(f"{path} cannot be read ({problem.strerror})") from problem
    for beginning, what in NO_TEXT.items():
        if lines and lines[0].encode("utf-8", BYTES).startswith(beginning):
            raise DataProblem(f"{path} is {what}")
    return lines


def _parsed(lines: Sequence[str]) -> list[Row]:
    limit = csv.field_size_limit(LARGEST_FIELD)
    try:
        return list(_rows(lines))
    finally:
        csv.field_size_limit(limit)


def _rows(lines: Sequence[str]) -> Iterator[Row]:
    """Rows, which may span lines. A line that no row can begin with is one by itself, and the next line begins another.

    >>> for row in _rows(["name,smiles\\n", '"open,C\\n', "water,O\\n"]):
    ...     print(row)
    Row(line=1, fields=('name', 'smiles'), broken='')
    Row(line=2, fields=('"open,C',), broken='unexpected end of data')
    Row(line=3, fields=('water', 'O'), broken='')
    """
    done = 0
    while done < len(lines):
        ahead = range(done, min(done + LONGEST_ROW, len(lines)))
        reader = csv.reader(map(lines.__getitem__, ahead), strict=True)
        try:
            fields = next(reader)
        except csv.Error as problem:
            done += 1
            yield Row(done, (lines[done - 1].rstrip("\r\n"),), broken=str(problem))
            continue
        done += reader.line_num
        if fields:
            yield Row(done, tuple(fields))


def quoted(text: str) -> str:
    """Text of a file as it may be shown: nothing in it works on a terminal, and it is not long.

    >>> quoted("smiles"), quoted("\\x1b[2J" + "C" * 100)[:12]
    ("'smiles'", "'\\\\x1b[2JCCCC")
    """
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "...")


def predict_row(row: Row, table: Table, trained: TrainedModel) -> Answer:
    """Predictions for one row, or what is wrong with it."""
    if row.broken:
        return Answer(row, {}, problem=f"no row of a CSV file ({row.broken})")
    surplus = row.fields[len(table.header) :]
    if len(row.fields) != len(table.header):
        more = f"; too many: {', '.join(surplus)!r}" if surplus else ""  # in full: they have no other place
        return Answer(row, {}, problem=f"{len(row.fields)} fields where the header has {len(table.header)}{more}")
    try:
        found = molecule_from_smiles(row.fields[table.smiles])
        outside = [] if trained.seen is None else trained.seen.outside(found.molecule)
        remark = "; ".join((*found.remarks, *outside))
        return Answer(row, trained.predict(found.molecule), remark, outside="; ".join(outside))
    except DataProblem as problem:
        return Answer(row, {}, problem=str(problem))


class Writer:
    """Writes rows as they were, in their order, with predictions, their spread over runs, remarks and problems behind."""

    def __init__(self, text: TextIO, table: Table, trained: TrainedModel) -> None:
        self.table, self.targets, self.spreads = table, trained.settings.targets, _has_spreads(trained)
        self._writer = csv.writer(text, lineterminator=table.newline)
        self._writer.writerow([*table.header, *_added(trained)])

    def write(self, answer: Answer) -> None:
        width = len(self.table.header)
        known = answer.row.fields[:width]
        values = []
        for name in self.targets:
            found = answer.predictions.get(name)
            values.append("" if found is None else f"{found.value:.9g}")
            if self.spreads:
                values.append("" if found is None or found.spread is None else f"{found.spread:.3g}")
        self._writer.writerow([*known, *[""] * (width - len(known)), *values, answer.remark, answer.problem])


@contextmanager
def writing(path: Path, table: Table, trained: TrainedModel) -> Iterator[Writer]:
    """A file that has its name once it is whole. Until then, and if we are interrupted, it has that of
    :func:`~dropgnn.files.unfinished`."""
    beside = unfinished(path)
    try:
        with beside.open("w", encoding="utf-8", errors=BYTES, newline="") as text:
            yield Writer(text, table, trained)
        beside.replace(path)
    except OSError as problem:
        raise DataProblem(f"{path} cannot be written ({problem.strerror})") from problem


def _has_spreads(trained: TrainedModel) -> bool:
    return trained.model.auxiliary is not None


def _added(trained: TrainedModel) -> list[str]:
    """The names of the columns that are added; where single runs predict, too, every target has their spread beside it."""
    names = []
    for target in trained.settings.targets:
        names.append(f"{target} [{TARGETS[target].unit}]")
        if _has_spreads(trained):
            names.append(f"{target} spread [{TARGETS[target].unit}]")
    return [*names, REMARK, PROBLEM]
