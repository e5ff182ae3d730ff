"""Where real data lies: ``--data DIR``, then ``DROPGNN_DATA``, then the cache folder; what is nowhere can be downloaded."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from dropgnn.errors import DataProblem

SHORT = {"IMDBB": "IMDBBINARY", "IMDBM": "IMDBMULTI"}


class Place(NamedTuple):
    """Where a dataset lies: one file in the text format of the GIN paper, or a folder with the raw files of ``name``."""

    path: Path
    name: str

    @property
    def is_text(self) -> bool:
        return self.path.suffix == ".txt"


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "dropgnn"


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
    raise DataProblem(f"no dataset '{name}' found; pass --data DIR or set DROPGNN_DATA. Looked for\n  {places}")


def find_dataset(name: str, given: Path | None = None, *, download: bool = True) -> Place:
    """A dataset by its name or its folder."""
    folder = Path(name)
    if folder.is_dir():
        return _in_folder(folder)
    for path in _text_files(name, given):
        if path.is_file():
            return Place(path, path.stem)
    for path in _raw_folders(name, given):
        if (path / f"{name}_A.txt").is_file():
            return Place(path, name)
    if not download or folder.name != name:
        raise DataProblem(
            f"no dataset '{name}' in {', '.join(map(str, data_folders(given)))}, and no folder of that name; pass --data DIR "
            "or set DROPGNN_DATA"
        )
    return _download(name)


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
    key = name.upper().replace("-", "")
    key = SHORT.get(key, key)
    return [folder / middle / key / f"{key}.txt" for folder in data_folders(given) for middle in ("tu", "")]


def _raw_folders(name: str, given: Path | None) -> list[Path]:
    return [
        folder / middle / name / last for folder in data_folders(given) for middle in ("tu", "") for last in ("raw", "")
    ]


def _download(name: str) -> Place:
    """From where PyG has its TU datasets, into the cache folder."""
    from torch_geometric.data import download_url, extract_zip
    from torch_geometric.datasets import TUDataset

    folder = cache_folder() / "tu"
    try:
        archive = download_url(f"{TUDataset.url}/{name}.zip", str(folder))
        extract_zip(archive, str(folder))  # a folder of the dataset's name
    except Exception as problem:  # whatever the network, the server or the archive may say
        raise DataProblem(
            f"no dataset '{name}' in {', '.join(map(str, data_folders()))}, and downloading it failed ({problem}); pass "
            "--data DIR or set DROPGNN_DATA to where it lies"
        ) from problem
    finally:
        (folder / f"{name}.zip").unlink(missing_ok=True)
    return _in_folder(folder / name)
