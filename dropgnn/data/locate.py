"""Where real data lies: ``--data DIR``, then ``DROPGNN_DATA``, then the cache folder; what is nowhere can be downloaded."""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from platformdirs import user_cache_path

from dropgnn.data.archives import known_dataset
from dropgnn.errors import DataMissing, DataProblem, InvalidArgument
from dropgnn.files import as_path

IN_GIN = {"IMDB-B": "IMDBBINARY", "IMDB-M": "IMDBMULTI"}
"""Datasets that have another name in the GIN paper's folders."""

IN_TU = {"IMDB-B": "IMDB-BINARY", "IMDB-M": "IMDB-MULTI", "PTC": "PTC_MR"}
"""Datasets that have another name in the TU collection."""

MADE_OF = {"PTC_MR": "PTC"}
"""Datasets that can be made of the GIN paper's files of another."""


class Place(NamedTuple):
    """Where a dataset lies: one file in the text format of the GIN paper, or a folder with the raw files of ``name``."""

    path: Path
    name: str
    is_text: bool = False


def paper_name(name: str) -> str:
    """The paper's name for a dataset, whatever it is called in files; any other name in capitals."""
    plain = _plain(name)
    called = (paper for paper, folder in IN_GIN.items() if plain in (_plain(paper), folder))
    return next(called, name.upper())


def _plain(name: str) -> str:
    return name.upper().replace("-", "")


def cache_folder() -> Path:
    """Where the user's system wants caches; a folder of earlier versions, which was the same on every system, is used on."""
    usual = user_cache_path("dropgnn", appauthor=False)
    earlier = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "dropgnn"
    return earlier if earlier.is_dir() and not usual.is_dir() else usual


def data_folders(given: Path | str | None = None) -> list[Path]:
    """The folders to look in, first one first."""
    given = None if given is None else as_path("data", given)
    if given is not None and not given.is_dir():
        raise InvalidArgument("data", "must be a folder that is there", got=given)
    named = os.environ.get("DROPGNN_DATA")
    return [folder for folder in (given, Path(named) if named else None, cache_folder()) if folder is not None]


def find_dataset(name: Path | str, given: Path | str | None = None, *, download: bool = True) -> Place:
    """A dataset by its name or its folder. A bare name is looked for in the data folders first, then where we are."""
    folder = as_path("name", name)
    name = str(name)
    is_name = folder.name == name
    if is_name:
        for data in data_folders(given):
            if (place := _below(data, name)) is not None:
                return place
    if folder.is_dir():
        return _in_folder(folder.resolve())
    known = known_dataset(IN_TU.get(paper_name(name), name)) if is_name else None
    if not download or known is None:
        unknown = "; it is not one of those that can be downloaded" * (download and is_name)
        raise DataMissing(
            f"no dataset '{name}' in {', '.join(map(str, data_folders(given)))}, and no folder of that name{unknown}; pass "
            "--data DIR or set DROPGNN_DATA"
        )
    return _download(known)


def datasets_at_hand(given: Path | None = None) -> dict[str, Path]:
    """The folders of all datasets in the data folders, by the paper's names where it has one for them, else by their own."""
    found: dict[str, Path] = {}
    for folder in data_folders(given):
        for path in sorted(chain((folder / "tu").glob("*/"), folder.glob("*/"))):
            paper = paper_name(path.name)
            with suppress(DataProblem):  # a heap of files is no dataset
                _in_folder(path)
                found.setdefault(paper if paper in IN_GIN else path.name, path)
    return found


def _below(folder: Path, name: str) -> Place | None:
    """A dataset by its name, or by those it has elsewhere, below a data folder; text files before raw ones, and last what it
    can be made of."""
    paper = paper_name(name)
    names = dict.fromkeys((name, name.upper(), _plain(name), IN_GIN.get(paper, paper), IN_TU.get(paper, paper)))
    folders = [folder / middle / called for middle in ("tu", "") for called in names]
    material = [folder / middle / MADE_OF[paper] for middle in ("tu", "") if paper in MADE_OF]
    looks = chain(map(_text_in, folders), map(_raw_in, folders), map(_text_in, material))
    return next(filter(None, looks), None)


def _in_folder(folder: Path) -> Place:
    """The dataset that lies in a folder, however it is written."""
    place = _text_in(folder) or _raw_in(folder)
    if place is None:
        raise DataProblem(
            f"{folder} holds neither {folder.name}.txt nor the raw files of a TU dataset (NAME_A.txt, ...)"
        )
    return place


def _text_in(folder: Path) -> Place | None:
    text = folder / f"{folder.name}.txt"
    return Place(text, folder.name, is_text=True) if text.is_file() else None


def _raw_in(folder: Path) -> Place | None:
    """Raw files, called as the folder is, or however the only ones are."""
    for raw in (folder, folder / "raw"):
        names = sorted(path.name.removesuffix("_A.txt") for path in raw.glob("*_A.txt"))
        if folder.name in names:
            return Place(raw, folder.name)
        if len(names) > 1:
            raise DataProblem(f"{raw} holds several datasets ({', '.join(names)}); give each a folder of its own")
        if names:
            return Place(raw, names[0])
    return None


def _download(name: str) -> Place:
    """From the TU collection, into the cache folder."""
    from dropgnn.data.download import download_tu

    folder = cache_folder() / "tu"
    try:
        download_tu(name, folder)
    except DataProblem as problem:
        raise type(problem)(
            f"no dataset '{name}' in {', '.join(map(str, data_folders()))}, and downloading it failed ({problem}); pass "
            "--data DIR or set DROPGNN_DATA to where it lies"
        ) from problem
    return _in_folder(folder / name)
