"""Damage the files of a reader again and again, and see what it answers."""

from __future__ import annotations

import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import NamedTuple

from dropgnn.errors import DataProblem, DropGNNError
from tests.fuzz.mutations import mutate

MEMORY = 1 << 30
"""Bytes that readers may take beyond what the process has; with more, they fail with a MemoryError."""

SECONDS = 10.0
"""Of processor time that a reader may think about a small file."""


class Reader(NamedTuple):
    """A way into the package for a file from outside.

    Args:
        name: What it is called.
        modules: Modules of the package in which files are opened on this way.
        write: Writes good files into a folder, and returns what is to be read.
        read: Reads it, and computes with it what comes next.
        share: How many of the cases it gets, over what a quick reader gets.
        needs: Packages without which it is skipped.
    """

    name: str
    modules: tuple[str, ...]
    write: Callable[[Path], Path]
    read: Callable[[Path], object]
    share: float = 1.0
    needs: tuple[str, ...] = ()


class Outcome(NamedTuple):
    """What came of many cases: how many were read, refused, and what else happened."""

    read: int
    refused: int
    failures: list[str]
    slowest: float


def fuzz(reader: Reader, folder: Path, cases: int, *, seed: int = 0) -> Outcome:
    """So many damaged files; case by case the same for a seed."""
    folder.mkdir()
    marker = folder.with_name(f"{folder.name}-executed")
    what = reader.write(folder)
    good = {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    reader.read(what)  # good files are read
    names = {folder.name, *(path.name for path in good)}
    read, refused, failures, slowest = 0, 0, [], 0.0
    with limited_memory(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of networkx, about keys that are not declared: the graph is read
        for number in range(cases):
            chance = Random(f"{seed} {reader.name} {number}")
            target = chance.choice(list(good))
            damaged, how = mutate(good[target], chance, marker)
            put(target, damaged)
            began, problem = time.process_time(), ""
            try:
                reader.read(what)
                read += 1
            except DropGNNError as said:
                refused += 1
                if isinstance(said, DataProblem) and not any(name in str(said) for name in names):
                    problem = f"names no file: {said}"
            except Exception as wrong:
                where = traceback.extract_tb(wrong.__traceback__)[-1]
                problem = f"{type(wrong).__name__} in {Path(where.filename).name}:{where.lineno}: {str(wrong)[:200]}"
            spent = time.process_time() - began
            slowest = max(slowest, spent)
            if spent > SECONDS:
                problem = f"took {spent:.1f} seconds"
            if marker.exists():
                marker.rmdir()
                problem = "code in the file was executed"
            if problem:
                failures.append(f"{reader.name}, case {number} ({how} in {target.name}): {problem}")
            restore(folder, good)
    return Outcome(read, refused, failures, slowest)


def restore(folder: Path, good: dict[Path, bytes]) -> None:
    """The files as they were, and none beside them."""
    for path in folder.rglob("*"):
        if path.is_file() and path not in good:
            path.unlink()
    for path, content in good.items():
        if not path.is_file() or path.stat().st_size != len(content) or path.read_bytes() != content:
            put(path, content)


def put(path: Path, content: bytes) -> None:
    """A new file, not the old one emptied and filled again, which some file systems write to the disk at once."""
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_bytes(content)


@contextmanager
def limited_memory() -> Iterator[None]:
    """No more than so much more than now, where the system can tell."""
    if not sys.platform.startswith("linux"):
        yield
        return
    import resource

    before = resource.getrlimit(resource.RLIMIT_AS)
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
