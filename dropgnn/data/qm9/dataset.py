"""QM9 as arrays on disk, mapped into memory."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from dropgnn.data.locate import cache_folder
from dropgnn.data.npy import open_npy
from dropgnn.data.qm9.arrays import Arrays
from dropgnn.data.qm9.build import ARRAYS, LeftOut, build_qm9
from dropgnn.data.qm9.consistency import problem_of
from dropgnn.data.qm9.pyg_folder import PyGFolder
from dropgnn.data.qm9.source import Source, installed_files
from dropgnn.errors import DataProblem
from dropgnn.files import as_path, read_json, read_text

FORMAT = 1
"""To be changed when the meaning of the arrays changes."""


@dataclass(frozen=True, eq=False)
class QM9(Arrays):
    """All molecules; ``number``, shape ``[G]``, is their place in GDB-9, from 1."""

    number: np.ndarray
    folder: Path

    @classmethod
    def load(
        cls,
        folder: Path | str | None = None,
        *,
        pyg_folder: Path | str | None = None,
        jobs: int = 2,
        on_progress: Callable[[int], None] | None = None,
    ) -> QM9:
        """From the cache, or made now, which takes minutes.

        Args:
            folder: The arrays; by default in the cache.
            pyg_folder: Make them from a folder of PyG's ``QM9`` instead of ``qm9pack``.
            jobs: Processes to make them with.
            on_progress: Told how many more molecules are made.
        """
        source: Callable[[], Source] = installed_files
        folder, pyg_folder = (
            None if path is None else as_path(name, path)
            for name, path in (("folder", folder), ("pyg_folder", pyg_folder))
        )
        if pyg_folder is not None:
            source = PyGFolder(pyg_folder.resolve()).check
        if folder is None:
            folder = cache_folder() / f"qm9-{FORMAT}{'' if pyg_folder is None else f'-{_short(pyg_folder)}'}"
        if not folder.is_dir():
            build_qm9(source(), folder, jobs=jobs, on_progress=on_progress)
        return cls(**read_arrays(folder), folder=folder)

    @cached_property
    def smiles(self) -> list[str]:
        with _damage_named(self.folder):
            lines = read_text(self.folder / "smiles.txt").splitlines()
            if len(lines) != len(self):
                raise DataProblem(f"smiles.txt has {len(lines):,} lines for {len(self):,} molecules")
            return lines

    @cached_property
    def left_out(self) -> list[LeftOut]:
        """Molecules that are not here."""
        with _damage_named(self.folder):
            found = read_json(self.folder / "left_out.json")
            try:
                left_out = [LeftOut(**one) for one in found]
            except TypeError as problem:
                raise DataProblem(f"left_out.json is no list of molecules ({problem})") from problem
            if not all(
                isinstance(one.number, int) and {type(one.smiles), type(one.reason)} == {str} for one in left_out
            ):
                raise DataProblem("left_out.json is no list of numbers, SMILES and reasons")
            return left_out


def read_arrays(folder: Path) -> dict[str, np.ndarray]:
    """The arrays of a folder, all about the same molecules."""
    with _damage_named(folder):
        arrays = {name: open_npy(folder / f"{name}.npy") for name in ARRAYS}
        problem = problem_of(arrays)
        if problem:
            raise DataProblem(problem)
        return arrays


@contextmanager
def _damage_named(folder: Path) -> Iterator[None]:
    try:
        yield
    except DataProblem as problem:
        raise DataProblem(f"{folder} is damaged ({problem}); remove it, and it will be made again") from problem


def _short(folder: Path) -> str:
    """A word for the files of a folder, another one when they change."""
    files = sorted(folder.glob("raw/*"))
    state = [(str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    return hashlib.blake2b(repr(state).encode(), digest_size=6).hexdigest()
