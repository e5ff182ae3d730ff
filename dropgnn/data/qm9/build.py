"""From text to arrays: the graph of every molecule, made on several processes, and kept as files that are mapped into memory."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dropgnn.data.qm9.arrays import Arrays
from dropgnn.data.qm9.source import Made, Source
from dropgnn.errors import DataProblem, MissingExtra
from dropgnn.files import unfinished
from dropgnn.interrupts import interrupts_held

CHUNK, WAITING = 1_000, 4
"""Molecules that a process makes at a time, and such chunks under way for each."""

ARRAYS = ("x", "bonds", "kinds", "kekule", "position", "atoms", "many_bonds", "properties", "number")


class LeftOut(NamedTuple):
    """A molecule that is not in the dataset, and why."""

    number: int
    smiles: str
    reason: str


def build_qm9(
    source: Source, folder: Path, *, jobs: int = 2, on_progress: Callable[[int], None] | None = None
) -> list[LeftOut]:
    """Make all molecules and write them into ``folder``, which appears when everything is there.

    Args:
        source: Where they come from.
        folder: Where to.
        jobs: Processes to use.
        on_progress: Told how many more molecules are done.
    """
    try:
        import rdkit  # noqa: F401
    except ImportError as missing:
        raise MissingExtra("RDKit", "chem") from missing
    beside = unfinished(folder)
    try:
        beside.mkdir(parents=True, exist_ok=True)  # whether we may write there should not show in the end
        found: list[Made] = []
        for made in _chunks(source, jobs):
            found += made
            if on_progress is not None:
                on_progress(len(made))
        left_out = [LeftOut(one.number, one.smiles, one.reason) for one in found if one.molecule is None]
        if len(left_out) == len(found):
            raise DataProblem(f"no molecule could be made of {source}")
        _write(beside, [one for one in found if one.molecule is not None], left_out)
        _take_place(beside, folder)
    except OSError as problem:
        raise DataProblem(f"{folder} cannot be written ({problem})") from problem
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return left_out


def _chunks(source: Source, jobs: int) -> Iterator[list[Made]]:
    """All molecules in the order of the rows; one job needs no other process."""
    rows = source.rows()
    chunks = iter(lambda: list(islice(rows, CHUNK)), [])
    if jobs == 1:
        yield from (_make(source, chunk) for chunk in chunks)
        return
    waiting = deque[Future[list[Made]]]()
    pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))
    try:
        for chunk in chunks:
            with interrupts_held():
                waiting.append(pool.submit(_make, source, chunk))
            if len(waiting) >= WAITING * jobs:  # or all of the text would be held at once
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _make(source: Source, rows: Sequence[Any]) -> list[Made]:
    from rdkit import rdBase

    with rdBase.BlockLogs():  # its warnings are about molecules that are dealt with here
        return [source.make(row) for row in rows]


def _write(beside: Path, made: Sequence[Made], left_out: Sequence[LeftOut]) -> None:
    molecules = [one.molecule for one in made if one.molecule is not None]
    arrays = vars(Arrays.of(molecules, np.array([one.properties for one in made])))
    arrays = arrays | {"number": np.array([one.number for one in made], np.int32)}
    for name in ARRAYS:
        np.save(beside / f"{name}.npy", arrays[name], allow_pickle=False)
    (beside / "smiles.txt").write_text("".join(f"{one.smiles}\n" for one in made), encoding="utf-8")
    (beside / "left_out.json").write_text(json.dumps([one._asdict() for one in left_out], indent=1) + "\n")


def _take_place(beside: Path, folder: Path) -> None:
    """The folder appears with everything in it, even if the power fails."""
    for path in beside.iterdir():
        with path.open("rb") as written:
            os.fsync(written.fileno())
    try:
        beside.replace(folder)
    except OSError:  # another process was faster, and has made the same
        if not folder.is_dir():
            raise
