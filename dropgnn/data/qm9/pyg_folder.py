"""PyG's own folder of QM9, where a user has one: ``raw/gdb9.sdf`` and what lies beside it. Its ``processed`` is not read, which
would mean to unpickle it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from dropgnn.data.qm9.consistency import LARGEST_MOLECULE
from dropgnn.data.qm9.molecules import bonds_of, molecule_of
from dropgnn.data.qm9.source import Made, checked, csv_rows, finite, molecule_named
from dropgnn.errors import DataProblem
from dropgnn.files import read_text

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
    where: str
    """Its row in the table."""


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
        doubtful, table = self._doubtful(), csv_rows(self._file("gdb9.sdf.csv"))
        for number, (where, row, block) in enumerate(self._pairs(table), start=1):
            if number in doubtful:
                continue
            with molecule_named(where):
                found = Block(number, block, finite(row[name] for name in COLUMNS), where)
            yield found

    def _doubtful(self) -> set[int]:
        path = self._file("uncharacterized.txt")
        try:
            lines = read_text(path).split("\n")
            return {int(line.split()[0]) for line in lines[ABOVE:-BELOW]}
        except (ValueError, IndexError) as problem:
            raise DataProblem(f"{path} is no list of molecules ({problem})") from problem

    def _pairs(self, rows: Iterator[tuple[str, dict[str, str]]]) -> Iterator[tuple[str, dict[str, str], str]]:
        blocks = self._blocks()
        for where, row in rows:
            block = next(blocks, None)
            if block is None:
                raise DataProblem(f"{self._file('gdb9.sdf')} has fewer molecules than gdb9.sdf.csv beside it")
            if row.get("mol_id", block.partition("\n")[0]) != block.partition("\n")[0]:
                raise DataProblem(f"{self._file('gdb9.sdf')} and gdb9.sdf.csv part at {row['mol_id']}")
            yield where, row, block
        if next(blocks, None) is not None:
            raise DataProblem(f"{self._file('gdb9.sdf')} has more molecules than gdb9.sdf.csv beside it")

    def _blocks(self) -> Iterator[str]:
        lines: list[str] = []
        path = self._file("gdb9.sdf")
        try:
            with path.open(encoding="utf-8") as text:
                for line in text:
                    if line == END:
                        yield "".join(lines)
                        lines = []
                    else:
                        lines.append(line)
        except (OSError, UnicodeError) as problem:
            raise DataProblem(f"{path} cannot be read as text ({problem}); download it again") from problem

    def make(self, row: Block) -> Made:
        from rdkit import Chem

        with molecule_named(f"{self._file('gdb9.sdf')}, molecule {row.number} ({row.where})"):
            mol = Chem.MolFromMolBlock(row.text, removeHs=False)
            if mol is None:
                return Made(row.number, "", row.properties, None, "RDKit finds its bonds impossible")
            if not 1 <= mol.GetNumAtoms() <= LARGEST_MOLECULE:
                raise ValueError(f"{mol.GetNumAtoms()} atoms; it must be 1 to {LARGEST_MOLECULE}")
            written = bonds_of(
                Chem.MolFromMolBlock(row.text, removeHs=False, sanitize=False)
            )  # single and double where they are
            molecule = molecule_of(mol, mol.GetConformer().GetPositions())._replace(kekule=written[:, 2])
            return Made(row.number, Chem.MolToSmiles(Chem.RemoveHs(mol)), row.properties, checked(molecule))
