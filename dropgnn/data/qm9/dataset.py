"""QM9 as arrays on disk, mapped into memory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from dropgnn.data.locate import cache_folder
from dropgnn.data.qm9.arrays import Arrays
from dropgnn.data.qm9.build import ARRAYS, LeftOut, build_qm9
from dropgnn.data.qm9.pyg_folder import PyGFolder
from dropgnn.data.qm9.source import Source, installed_files
from dropgnn.errors import DataProblem

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
        folder: Path | None = None,
        *,
        pyg_folder: Path | None = None,
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
        if pyg_folder is not None:
            source = PyGFolder(pyg_folder.resolve()).check
        if folder is None:
            folder = cache_folder() / f"qm9-{FORMAT}{'' if pyg_folder is None else f'-{_short(pyg_folder)}'}"
        if not folder.is_dir():
            build_qm9(source(), folder, jobs=jobs, on_progress=on_progress)
        try:
            arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False) for name in ARRAYS}
        except (OSError, ValueError, EOFError) as problem:
            raise _damaged(folder, problem) from problem
        return cls(**arrays, folder=folder)

    @cached_property
    def smiles(self) -> list[str]:
        try:
            return (self.folder / "smiles.txt").read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as problem:
            raise _damaged(self.folder, problem) from problem

    @cached_property
    def left_out(self) -> list[LeftOut]:
        """Molecules that are not here."""
        try:
            return [LeftOut(**one) for one in json.loads((self.folder / "left_out.json").read_text(encoding="utf-8"))]
        except (OSError, ValueError, TypeError) as problem:
            raise _damaged(self.folder, problem) from problem


def _damaged(folder: Path, problem: Exception) -> DataProblem:
    return DataProblem(f"{folder} is damaged ({problem}); remove it, and it will be made again")


def _short(folder: Path) -> str:
    """A word for the files of a folder, another one when they change."""
    files = sorted(folder.glob("raw/*"))
    state = [(str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    return hashlib.blake2b(repr(state).encode(), digest_size=6).hexdigest()
