"""From text to arrays: the graph of every molecule, made on several processes, and kept as files that are mapped into memory."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dropgnn.data.qm9.bonds import with_bonds
from dropgnn.data.qm9.molecules import Molecule, molecule_of
from dropgnn.data.qm9.source import Row, geometry, read_rows
from dropgnn.errors import MissingExtra

CHUNK = 1_000
ARRAYS = ("x", "bonds", "kinds", "kekule", "position", "atoms", "many_bonds", "properties", "number")


class LeftOut(NamedTuple):
    """A molecule that is not in the dataset, and why."""

    number: int
    smiles: str
    reason: str


def build_qm9(
    files: Sequence[Path], folder: Path, *, jobs: int = 2, on_progress: Callable[[int], None] | None = None
) -> list[LeftOut]:
    """Make all molecules and write them into ``folder``, which appears when everything is there.

    Args:
        files: Those of ``qm9pack``.
        folder: Where to.
        jobs: Processes to use.
        on_progress: Told how many more molecules are done.
    """
    try:
        import rdkit  # noqa: F401
    except ImportError as missing:
        raise MissingExtra("RDKit", "chem") from missing
    molecules: list[Molecule] = []
    rows: list[Row] = []
    left_out: list[LeftOut] = []
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        for chunk, made in _in_order(pool, _chunks(read_rows(files)), most=4 * jobs):
            for row, molecule in zip(chunk, made, strict=True):
                if isinstance(molecule, str):
                    left_out.append(LeftOut(row.number, row.smiles, molecule))
                else:
                    molecules.append(molecule)
                    rows.append(row)
            if on_progress is not None:
                on_progress(len(chunk))
    _write(folder, molecules, rows, left_out)
    return left_out


def _chunks(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while chunk := list(islice(rows, CHUNK)):
        yield chunk


def _in_order(
    pool: ProcessPoolExecutor, chunks: Iterable[list[Row]], *, most: int
) -> Iterator[tuple[list[Row], list[Molecule | str]]]:
    """Results in the order of the chunks, with no more than ``most`` of them under way: the text need not be held at once."""
    waiting: list = []
    for chunk in chunks:
        waiting.append((chunk, pool.submit(_make, chunk)))
        if len(waiting) >= most:
            first, future = waiting.pop(0)
            yield first, future.result()
    for first, future in waiting:
        yield first, future.result()


def _make(rows: Sequence[Row]) -> list[Molecule | str]:
    """For every row its molecule, or why there is none."""
    from rdkit import rdBase

    quiet = rdBase.BlockLogs()  # its warnings are about molecules that are dealt with here
    found: list[Molecule | str] = []
    for row in rows:
        elements, position = geometry(row)
        mol = with_bonds(row.smiles, elements, position)
        found.append("its bonds are not those of its SMILES" if mol is None else molecule_of(mol, position))
    del quiet
    return found


def _write(folder: Path, molecules: Sequence[Molecule], rows: Sequence[Row], left_out: Sequence[LeftOut]) -> None:
    arrays = {name: np.concatenate([getattr(molecule, name) for molecule in molecules]) for name in ARRAYS[:5]}
    arrays["atoms"] = np.array([len(molecule.x) for molecule in molecules], np.int32)
    arrays["many_bonds"] = np.array([len(molecule.bonds) for molecule in molecules], np.int32)
    arrays["properties"] = np.array([row.properties for row in rows])
    arrays["number"] = np.array([row.number for row in rows], np.int32)
    beside = folder.with_name(f"{folder.name}.{os.getpid()}.part")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    for name in ARRAYS:
        np.save(beside / f"{name}.npy", arrays[name], allow_pickle=False)
    (beside / "smiles.txt").write_text("".join(f"{row.smiles}\n" for row in rows), encoding="utf-8")
    (beside / "left_out.json").write_text(json.dumps([one._asdict() for one in left_out], indent=1) + "\n")
    shutil.rmtree(folder, ignore_errors=True)
    beside.replace(folder)
