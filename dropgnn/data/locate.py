"""Where real data lies: ``--data DIR``, then ``DROPGNN_DATA``, then the cache folder."""

from __future__ import annotations

import os
from pathlib import Path

from dropgnn.errors import DataProblem


def data_folders(given: Path | None = None) -> list[Path]:
    """The folders to look in, first one first."""
    named = os.environ.get("DROPGNN_DATA")
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "dropgnn"
    return [folder for folder in (given, Path(named) if named else None, cache) if folder is not None]


def find_tu(name: str, given: Path | None = None) -> Path:
    """The text file of a graph classification dataset, e.g. ``tu/MUTAG/MUTAG.txt`` below one of the data folders."""
    key = name.upper().replace("-", "")
    key = {"IMDBB": "IMDBBINARY", "IMDBM": "IMDBMULTI"}.get(key, key)
    tried = [folder / middle / key / f"{key}.txt" for folder in data_folders(given) for middle in ("tu", "")]
    for path in tried:
        if path.is_file():
            return path
    places = "\n  ".join(map(str, tried))
    raise DataProblem(f"no dataset '{name}' found; pass --data DIR or set DROPGNN_DATA. Looked for\n  {places}")
