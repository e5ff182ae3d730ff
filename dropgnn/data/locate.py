"""Where real data lies: ``--data DIR``, then ``DROPGNN_DATA``, then the cache folder; what is nowhere can be downloaded."""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from dropgnn.errors import DataMissing, DataProblem

SHORT = {"IMDBB": "IMDBBINARY", "IMDBM": "IMDBMULTI"}
"""Folders of the GIN paper's text files, by the names of the datasets in capitals without dashes."""

TU = {"IMDBBINARY": "IMDB-BINARY", "IMDBMULTI": "IMDB-MULTI", "PTC": "PTC_MR"}
"""What the TU collection calls datasets that have other names in these folders."""


class Place(NamedTuple):
    """Where a dataset lies: one file in the text format of the GIN paper, or a folder with the raw files of ``name``."""

    path: Path
    name: str

    @property
    def is_text(self) -> bool:
        return self.path.suffix == ".txt"


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dropgnn"


def data_folders(given: Path | None = None) -> list[Path]:
    """The folders to look in, first one first."""
    named = os.environ.get("DROPGNN_DATA")
    return [folder for folder in (given, Path(named) if named else None, cache_folder()) if folder is not None]


def find_tu(name: str, given: Path | None = None) -> Path:
    """The text file of a graph classification dataset, e.g. ``tu/MUTAG/MUTAG.txt`` below one of the data folders."""
    tried = _text_files(name, given)
    for path in tried:
        if path.is_file():
            return path
    places = "\n  ".join(map(str, tried))
    raise DataMissing(f"no dataset '{name}' found; pass --data DIR or set DROPGNN_DATA. Looked for\n  {places}")


def find_dataset(name: str, given: Path | None = None, *, download: bool = True) -> Place:
    """A dataset by its name or its folder. A bare name is looked for in the data folders first, then where we are."""
    folder = Path(name)
    is_name = folder.name == name
    if is_name:
        for path in _text_files(name, given):
            if path.is_file():
                return Place(path, path.stem)
        for path, called in _raw_folders(name, given):
            if (path / f"{called}_A.txt").is_file():
                return Place(path, called)
    if folder.is_dir():
        return _in_folder(folder.resolve())
    if not download or not is_name:
        raise DataMissing(
            f"no dataset '{name}' in {', '.join(map(str, data_folders(given)))}, and no folder of that name; pass --data DIR "
            "or set DROPGNN_DATA"
        )
    return _download(_in_tu(name))


def _in_folder(folder: Path) -> Place:
    """The dataset that lies in a folder, however it is written."""
    text = folder / f"{folder.name}.txt"
    if text.is_file():
        return Place(text, folder.name)
    for raw in (folder, folder / "raw"):
        for path in sorted(raw.glob("*_A.txt")):
            return Place(raw, path.name.removesuffix("_A.txt"))
    raise DataProblem(f"{folder} holds neither {folder.name}.txt nor the raw files of a TU dataset (NAME_A.txt, ...)")


def _text_files(name: str, given: Path | None) -> list[Path]:
    key = _key(name)
    return [folder / middle / key / f"{key}.txt" for folder in data_folders(given) for middle in ("tu", "")]


def _raw_folders(name: str, given: Path | None) -> list[tuple[Path, str]]:
    """Where raw files may lie, and what they are called there."""
    called = dict.fromkeys((name, name.upper(), _in_tu(name)))
    places = product(called, data_folders(given), ("tu", ""), ("raw", ""))
    return [(folder / middle / one / last, one) for one, folder, middle, last in places]


def _key(name: str) -> str:
    short = name.upper().replace("-", "")
    return SHORT.get(short, short)


def _in_tu(name: str) -> str:
    return TU.get(_key(name), name)


def _download(name: str) -> Place:
    """From where PyG has its TU datasets, into the cache folder."""
    from torch_geometric.data import download_url, extract_zip
    from torch_geometric.datasets import TUDataset

    folder = cache_folder() / "tu"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder) as beside:  # what is there under its name is there as a whole
            archive = download_url(f"{TUDataset.url}/{name}.zip", beside)
            extract_zip(archive, beside)  # a folder of the dataset's name
            with suppress(OSError):  # someone else was faster
                (Path(beside) / name).rename(folder / name)
    except Exception as problem:  # whatever the network, the server or the archive may say
        raise DataMissing(
            f"no dataset '{name}' in {', '.join(map(str, data_folders()))}, and downloading it failed ({problem}); pass "
            "--data DIR or set DROPGNN_DATA to where it lies"
        ) from problem
    return _in_folder(folder / name)
