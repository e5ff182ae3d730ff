"""Where molecules come from: the files of the package ``qm9pack``, SMILES, coordinates and properties of all characterised
molecules as text, or a folder of PyG's ``QM9``."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from dropgnn.data.qm9.bonds import with_bonds
from dropgnn.data.qm9.consistency import LARGEST_MOLECULE
from dropgnn.data.qm9.molecules import Molecule, molecule_of
from dropgnn.data.qm9.smiles import LONGEST
from dropgnn.data.qm9.targets import TARGETS
from dropgnn.errors import DataProblem, MissingExtra

FILES = ("qm9_part1.csv", "qm9_part2.csv", "qm9_part3.csv")

FARTHEST = 1_000_000
"""Of coordinates in Angstrom; the arithmetic of distances stays far from its limits."""

LARGEST_NUMBER = 2**31
"""Of a molecule, which is kept in four bytes."""


class Made(NamedTuple):
    """What became of a molecule: its graph, or the reason why there is none. ``number`` is its place in GDB-9, from 1."""

    number: int
    smiles: str
    properties: tuple[float, ...]
    molecule: Molecule | None
    reason: str = ""


class Source(Protocol):
    """Text of molecules that is read in one process and understood in others."""

    def rows(self) -> Iterator[Any]:
        """The text of every molecule."""

    def make(self, row: Any) -> Made:
        """What it says."""


class Row(NamedTuple):
    """A molecule as it is written; ``number`` is its place in GDB-9, from 1, and ``where`` its file and row."""

    number: int
    smiles: str
    elements: str
    coordinates: str
    properties: tuple[float, ...]
    where: str = ""


class PackFiles(NamedTuple):
    """Files of ``qm9pack``."""

    files: tuple[Path, ...]

    def rows(self) -> Iterator[Row]:
        return read_rows(self.files)

    def make(self, row: Row) -> Made:
        with molecule_named(row.where):
            if len(row.smiles) > LONGEST:
                raise ValueError(f"a SMILES of {len(row.smiles):,} characters; at most {LONGEST:,} are read")
            elements, position = geometry(row)
            mol = with_bonds(row.smiles, elements, position)
            if mol is None:
                return Made(row.number, row.smiles, row.properties, None, "its bonds are not those of its SMILES")
            return Made(row.number, row.smiles, row.properties, checked(molecule_of(mol, position)))


def installed_files() -> PackFiles:
    """Where the files lie. The package itself is never imported, which fails with current setuptools."""
    found = find_spec("qm9pack")
    if found is None or not found.submodule_search_locations:
        raise MissingExtra("qm9pack", "chem")
    folder = Path(next(iter(found.submodule_search_locations))) / "data"
    return PackFiles(tuple(folder / name for name in FILES))


def read_rows(files: Sequence[Path]) -> Iterator[Row]:
    """All molecules in the order of the files."""
    for path in files:
        if not path.is_file():
            raise DataProblem(f"{path} is missing; install qm9pack again")
        for where, row in csv_rows(path):
            with molecule_named(where):
                properties = finite(row[target.column] for target in TARGETS.values())
                smiles, elements, places = (str(row[name] or "") for name in ("SMILES", "Elements", "XYZ_Ang"))
                found = Row(numbered(row["Index"]), smiles, elements, places, properties, where)
            yield found


def csv_rows(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """The rows of a file with a header, and where each stands; the header is row 1."""
    try:
        with path.open(encoding="utf-8", newline="") as text:
            for number, row in enumerate(csv.DictReader(text), start=2):
                yield f"{path}, row {number}", row
    except OSError as problem:
        raise DataProblem(f"{path} cannot be read ({problem.strerror})") from problem
    except (UnicodeError, csv.Error) as problem:
        raise DataProblem(f"{path} is not a table in CSV ({problem})") from problem


@contextmanager
def molecule_named(where: str) -> Iterator[None]:
    """Say where the molecule stands of which nothing can be made."""
    try:
        yield
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as problem:  # RDKit's, too
        raise DataProblem(
            f"{where}: not a molecule ({problem!r}); take the file from where it came from again"
        ) from problem


def finite(numbers: Iterable[str]) -> tuple[float, ...]:
    """The properties of a molecule."""
    found = tuple(float(number) for number in numbers)
    if not all(map(math.isfinite, found)):
        raise ValueError("a property is not a finite number")
    return found


def numbered(text: str) -> int:
    """The place of a molecule in GDB-9."""
    number = int(text)
    if not 0 < number < LARGEST_NUMBER:
        raise ValueError(f"{number} is no place in GDB-9")
    return number


def checked(molecule: Molecule) -> Molecule:
    """The molecule, if its atoms can be numbered by bytes and have places."""
    if not 1 <= len(molecule.x) <= LARGEST_MOLECULE or not np.isfinite(molecule.position).all():
        raise ValueError(f"{len(molecule.x)} atoms, or places that are no finite numbers")
    return molecule


def geometry(row: Row) -> tuple[list[str], np.ndarray]:
    """The element of every atom and its place, ``[n, 3]``. Some numbers are written ``0.``, which JSON does not know."""
    elements = json.loads(row.elements.replace("'", '"'))
    position = np.array(json.loads(re.sub(r"\.(?=[,\]])", ".0", row.coordinates)), np.float64).reshape(-1, 3)
    if not isinstance(elements, list) or not 1 <= len(elements) == len(position) <= LARGEST_MOLECULE:
        raise ValueError(f"elements and coordinates of 1 to {LARGEST_MOLECULE} atoms are needed, of each the same")
    if not (np.abs(position) < FARTHEST).all():
        raise ValueError(f"a coordinate is no number below {FARTHEST:,}")
    return elements, position
