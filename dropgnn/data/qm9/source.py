"""Where molecules come from: the files of the package ``qm9pack``, SMILES, coordinates and properties of all characterised
molecules as text, or a folder of PyG's ``QM9``."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from dropgnn.data.qm9.bonds import with_bonds
from dropgnn.data.qm9.molecules import Molecule, molecule_of
from dropgnn.data.qm9.targets import TARGETS
from dropgnn.errors import DataProblem, MissingExtra

FILES = ("qm9_part1.csv", "qm9_part2.csv", "qm9_part3.csv")


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
    """A molecule as it is written; ``number`` is its place in GDB-9, from 1."""

    number: int
    smiles: str
    elements: str
    coordinates: str
    properties: tuple[float, ...]


class PackFiles(NamedTuple):
    """Files of ``qm9pack``."""

    files: tuple[Path, ...]

    def rows(self) -> Iterator[Row]:
        return read_rows(self.files)

    def make(self, row: Row) -> Made:
        elements, position = geometry(row)
        mol = with_bonds(row.smiles, elements, position)
        if mol is None:
            return Made(row.number, row.smiles, row.properties, None, "its bonds are not those of its SMILES")
        return Made(row.number, row.smiles, row.properties, molecule_of(mol, position))


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
        with path.open(encoding="utf-8", newline="") as text:
            for number, row in enumerate(csv.DictReader(text), start=2):
                try:
                    properties = tuple(float(row[target.column]) for target in TARGETS.values())
                    yield Row(int(row["Index"]), row["SMILES"], row["Elements"], row["XYZ_Ang"], properties)
                except (KeyError, TypeError, ValueError) as problem:
                    raise DataProblem(f"{path}, row {number}: not a molecule ({problem!r})") from problem


def geometry(row: Row) -> tuple[list[str], np.ndarray]:
    """The element of every atom and its place, ``[n, 3]``. Some numbers are written ``0.``, which JSON does not know."""
    elements = json.loads(row.elements.replace("'", '"'))
    return elements, np.array(json.loads(re.sub(r"\.(?=[,\]])", ".0", row.coordinates)), np.float64).reshape(-1, 3)
