"""PyG's own folder of QM9, where a user has one: ``raw/gdb9.sdf`` and what lies beside it. Its ``processed`` is not read, which
would mean to unpickle it."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from dropgnn.data.qm9.molecules import bonds_of, molecule_of
from dropgnn.data.qm9.source import Made
from dropgnn.errors import DataProblem

COLUMNS = ("mu", "alpha", "homo", "lumo", "gap", "r2", "zpve", "u0", "u298", "h298", "g298", "cv")
"""Of its table, in the order of our targets; energies are in Hartree there."""

END = "$$$$\n"
ABOVE, BELOW = 9, 2
"""Lines of words around the list of molecules that did not keep their shape."""


class Block(NamedTuple):
    """A molecule as it is written in the SDF file."""

    number: int
    text: str
    properties: tuple[float, ...]


class PyGFolder(NamedTuple):
    """A folder that PyG's ``QM9`` has downloaded to."""

    folder: Path

    def _file(self, name: str) -> Path:
        return self.folder / "raw" / name

    def check(self) -> PyGFolder:
        """Itself, if its files are there."""
        for name in ("gdb9.sdf", "gdb9.sdf.csv", "uncharacterized.txt"):
            if not self._file(name).is_file():
                raise DataProblem(f"{self._file(name)} is missing; PyG's QM9 downloads it where RDKit is installed")
        return self

    def rows(self) -> Iterator[Block]:
        """All molecules but those that did not keep their shape, which a file of their numbers names."""
        doubtful = self._doubtful()
        with self._file("gdb9.sdf.csv").open(encoding="utf-8", newline="") as table:
            for number, (row, block) in enumerate(self._pairs(csv.DictReader(table)), start=1):
                if number in doubtful:
                    continue
                try:
                    yield Block(number, block, tuple(float(row[name]) for name in COLUMNS))
                except (KeyError, TypeError, ValueError) as problem:
                    raise DataProblem(f"{table.name}, row {number + 1}: not a molecule ({problem!r})") from problem

    def _doubtful(self) -> set[int]:
        path = self._file("uncharacterized.txt")
        try:
            lines = path.read_text(encoding="utf-8").split("\n")
            return {int(line.split()[0]) for line in lines[ABOVE:-BELOW]}
        except (ValueError, IndexError) as problem:
            raise DataProblem(f"{path} is no list of molecules ({problem})") from problem

    def _pairs(self, rows: csv.DictReader) -> Iterator[tuple[dict[str, str], str]]:
        blocks = self._blocks()
        for row in rows:
            block = next(blocks, None)
            if block is None:
                raise DataProblem(f"{self._file('gdb9.sdf')} has fewer molecules than gdb9.sdf.csv beside it")
            if row.get("mol_id", block.partition("\n")[0]) != block.partition("\n")[0]:
                raise DataProblem(f"{self._file('gdb9.sdf')} and gdb9.sdf.csv part at {row['mol_id']}")
            yield row, block
        if next(blocks, None) is not None:
            raise DataProblem(f"{self._file('gdb9.sdf')} has more molecules than gdb9.sdf.csv beside it")

    def _blocks(self) -> Iterator[str]:
        lines: list[str] = []
        with self._file("gdb9.sdf").open(encoding="utf-8") as text:
            for line in text:
                if line == END:
                    yield "".join(lines)
                    lines = []
                else:
                    lines.append(line)

    def make(self, row: Block) -> Made:
        from rdkit import Chem

        mol = Chem.MolFromMolBlock(row.text, removeHs=False)
        if mol is None:
            return Made(row.number, "", row.properties, None, "RDKit finds its bonds impossible")
        written = bonds_of(
            Chem.MolFromMolBlock(row.text, removeHs=False, sanitize=False)
        )  # single and double where they are
        molecule = molecule_of(mol, mol.GetConformer().GetPositions())._replace(kekule=written[:, 2])
        return Made(row.number, Chem.MolToSmiles(Chem.RemoveHs(mol)), row.properties, molecule)
