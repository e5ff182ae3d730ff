"""Files that are there as a whole or not at all, and texts that are what they claim to be."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dropgnn.errors import DataProblem, InvalidArgument

LARGEST_TEXT = 1 << 29
"""Bytes of a text that is read; it takes several times as much memory."""


def as_path(argument: str, value: Any) -> Path:
    """``value`` as a path, whether it is one or a text; else an error that names ``argument``."""
    try:
        path = Path(value)
    except TypeError:
        raise InvalidArgument(argument, "must be a path", got=type(value).__name__) from None
    if "\0" in str(path):
        raise InvalidArgument(argument, "must be a path, without a null character", got=repr(value))
    return path


def unfinished(path: Path) -> Path:
    """Where this process writes what is to be ``path``; what an earlier one has left is not touched."""
    return path.with_name(f"{path.name}.{os.getpid()}.part")


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Somewhere to write a file, which then takes its place in one step, its folder made where there is none.

    A reader sees the old file or the new one, never half of it, even if we are killed or the power fails.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = unfinished(path)
    try:
        yield beside
        with beside.open("rb") as written:
            os.fsync(written.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def check_size(path: Path) -> None:
    """Raise if a text is too large to be read at once."""
    size = path.stat().st_size
    if size > LARGEST_TEXT:
        raise DataProblem(f"{path} has {size >> 20:,} MB; texts of at most {LARGEST_TEXT >> 20} MB are read: split it")


def read_text(path: Path, *, errors: str = "strict") -> str:
    """The text of a file. One that cannot be read, is too large, or is not UTF-8, is an error that names it.

    Args:
        path: The file.
        errors: As for ``open``: what becomes of bytes that are not UTF-8.
    """
    try:
        check_size(path)
        return path.read_text(encoding="utf-8-sig", errors=errors)
    except UnicodeError as problem:
        raise DataProblem(f"{path} is not a text file in UTF-8 ({problem})") from problem
    except OSError as problem:
        raise DataProblem(f"{path} cannot be read ({problem.strerror})") from problem


def read_json(path: Path) -> Any:
    """What a JSON file says. Whatever else it holds, deep nesting and text that cannot be written again included, is an error
    that names it."""
    text = read_text(path)
    try:
        found = json.loads(text)
        if "\\ud" in text.lower():  # halves of characters, which no file or terminal takes
            json.dumps(found, ensure_ascii=False).encode()
    except RecursionError as problem:
        raise DataProblem(f"{path} is nested too deeply for a JSON file of ours") from problem
    except ValueError as problem:
        raise DataProblem(f"{path} is not JSON ({problem})") from problem
    return found
