"""Files that are there as a whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
