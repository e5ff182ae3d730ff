"""Datasets from the network, for those who ask for one by its name. They are checked before anything of them is kept."""

from __future__ import annotations

import lzma
import re
import shutil
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

import pooch

from dropgnn.data import archives
from dropgnn.data.raw import RawGraphs
from dropgnn.data.tu_folder import read_tu_folder
from dropgnn.errors import DataMissing, DataProblem, DropGNNError

LARGEST = 1 << 32
"""Bytes that a file of an archive may unpack to."""

TIMEOUT = 30
"""Seconds without an answer after which the network counts as missing."""

ROUNDING = 0.0101
"""By how much a published mean with two digits may be off, rounded or cut."""

SHOWN = 300


def download_tu(name: str, folder: Path) -> None:
    """Put the raw files of a TU dataset into ``folder / name``, which appears once they are there and right.

    Where a SHA-256 of the archive is known, it is compared; else the numbers of graphs and nodes that are published. Whatever
    does not agree is removed again.

    Raises:
        DataMissing: Where nothing can be downloaded.
        DataProblem: Where it is not what it should be.
    """
    with _beside(folder) as temporary:
        archive = _fetch(f"{archives.TU}/{name}.zip", archives.HASHES.get(name), temporary)
        with _opened(archive) as packed:
            members = [
                one for one in packed.infolist() if re.fullmatch(rf"{re.escape(name)}/[\w.+-]+\.txt", one.filename)
            ]
            for member in members:
                _unpack(packed, member, temporary / name / PurePosixPath(member.filename).name)
        if not (temporary / name / f"{name}_A.txt").is_file():
            raise DataProblem(f"{archive.name} has no {name}/{name}_A.txt in it")
        if name not in archives.HASHES:
            _compare(name, read_tu_folder(temporary / name, name))
        _take_place(temporary / name, folder / name)


def download_brec(folder: Path) -> None:
    """Put BREC's published file into ``folder``. The SHA-256 of its archive and of the file itself are known."""
    brec = archives.BREC
    with _beside(folder) as temporary:
        archive = _fetch(brec.url, brec.archive, temporary)
        found = temporary / brec.member
        with _opened(archive) as packed:
            _unpack(packed, packed.getinfo(brec.member), found)
        if (digest := pooch.file_hash(str(found))) != brec.content:
            raise DataProblem(f"{brec.member} in it has the SHA-256 {digest}, and should have {brec.content}")
        _take_place(found, folder / brec.member)


@contextmanager
def _beside(folder: Path) -> Iterator[Path]:
    """A folder for what is not yet complete; it goes away, whatever happens."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder, prefix=".download-") as temporary:
            yield Path(temporary)
    except OSError as problem:
        raise DataMissing(f"{folder} cannot be written ({problem.strerror or problem})") from problem


def _fetch(url: str, known: str | None, into: Path) -> Path:
    """The archive at an address, if its SHA-256 is the known one, or none is known."""
    from requests.exceptions import RequestException

    name = PurePosixPath(url).name
    try:
        downloader = pooch.HTTPDownloader(timeout=TIMEOUT)
        return Path(pooch.retrieve(url, known and f"sha256:{known}", name, into, downloader=downloader))
    except RequestException as problem:
        raise DataMissing(f"{url} cannot be downloaded ({_reason(problem)})") from problem
    except ValueError as problem:  # of pooch, about the hash
        raise DataProblem(
            f"{url} is not the archive that is known: its SHA-256 is not {known}. Nothing of it was kept. Where you trust "
            "another copy, unpack it and pass --data DIR"
        ) from problem


@contextmanager
def _opened(archive: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(archive) as packed:
            yield packed
    except DropGNNError:
        raise
    except (
        zipfile.BadZipFile,
        zlib.error,
        lzma.LZMAError,
        struct.error,
        EOFError,
        KeyError,
        RuntimeError,
        ValueError,
    ) as problem:
        raise DataProblem(
            f"{archive.name} is not the ZIP archive that it should be ({problem}); nothing was kept"
        ) from problem


def _unpack(packed: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path) -> None:
    """One file of an archive, no larger than the archive says, and than we take."""
    if member.file_size > LARGEST:
        raise DataProblem(
            f"{member.filename} would unpack to {member.file_size:,} bytes; at most {LARGEST:,} are taken"
        )
    target.parent.mkdir(exist_ok=True)
    with packed.open(member) as source, target.open("wb") as copy:
        shutil.copyfileobj(source, copy)


def _compare(name: str, found: RawGraphs) -> None:
    """What was published of a dataset, with what was downloaded."""
    published, nodes = archives.STATISTICS[name], float(found.nodes.double().mean())
    if len(found) != published.graphs or abs(nodes - published.nodes) > ROUNDING:
        raise DataProblem(
            f"{name} has {len(found):,} graphs of {nodes:.2f} nodes on average, and should have {published.graphs:,} of "
            f"{published.nodes:.2f}, as the page of the TU collection says. Nothing of it was kept. Where you trust it, unpack "
            "it yourself and pass --data DIR"
        )


def _take_place(found: Path, target: Path) -> None:
    try:
        found.rename(target)
    except OSError:
        if not target.exists():  # else someone was faster, with the same
            raise


def _reason(problem: Exception) -> str:
    """Why nothing came, without the chain of objects that requests puts into its messages."""
    from requests.exceptions import ConnectionError, Timeout

    if isinstance(problem, Timeout):
        return "no answer in time"
    return "no connection" if isinstance(problem, ConnectionError) else str(problem)[:SHOWN]
