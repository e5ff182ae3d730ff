"""BREC: 400 pairs of graphs that 1-WL cannot tell apart (Wang and Zhang, ICML 2024)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path

import networkx as nx
import numpy as np

from dropgnn.data.locate import cache_folder, data_folders
from dropgnn.data.npy import open_npy
from dropgnn.errors import DataMissing, DataProblem

FILES = {"basic": 60, "regular": 50, "str": 50, "extension": 100, "cfi": 100, "4vtx": 20, "dr": 20}
"""The raw files in the order of the 400 pairs, and how many pairs each holds."""

NAMES = {
    "basic": "Basic",
    "regular": "Regular",
    "str": "Strongly regular",
    "extension": "Extension",
    "cfi": "CFI",
    "4vtx": "4-vertex condition",
    "dr": "Distance regular",
}
PUBLISHED = "brec_v3.npy"
RELABELLED = 32
"""The published file holds every graph so many times, its nodes in another order each time, the two of a pair in turns."""

SHOWN = 40
AGAIN = "; take it from GraphPKU/BREC again"


@dataclass(frozen=True)
class BrecPair:
    """One of the 400 pairs.

    Args:
        number: From 0, in the published order.
        kind: A key of :data:`NAMES`.
        a, b: The graphs.
    """

    number: int
    kind: str
    a: nx.Graph
    b: nx.Graph


def load_brec(given: Path | str | None = None, *, download: bool = True) -> list[BrecPair]:
    """All pairs, from the raw files or from the published ``brec_v3.npy``, whichever is found first.

    Args:
        given: A folder with either; by default as for other data, in a folder ``brec``.
        download: Whether to fetch the published file, whose SHA-256 is known, where neither is found.
    """
    tried = [folder / middle for folder in data_folders(given) for middle in ("", "brec")]
    found = next(filter(None, map(_read, tried)), None)
    if found is None:
        found = _read(_download(tried)) if download else None
    if found is None:
        raise DataMissing(_not_found(tried))
    return found


def _read(folder: Path) -> list[BrecPair] | None:
    """All pairs, if they are there."""
    if (folder / PUBLISHED).is_file():
        return _numbered(_published(folder / PUBLISHED))
    if all((folder / f"{name}.npy").is_file() for name in FILES):
        return _numbered(chain.from_iterable(_raw(folder / f"{name}.npy", pairs) for name, pairs in FILES.items()))
    return None


def _download(tried: Sequence[Path]) -> Path:
    """The folder with the published file, which lies in the cache now."""
    from dropgnn.data.download import download_brec

    folder = cache_folder() / "brec"
    try:
        download_brec(folder)
    except DataProblem as problem:
        raise type(problem)(f"{_not_found(tried)}\nDownloading it failed: {problem}") from problem
    return folder


def _not_found(tried: Sequence[Path]) -> str:
    places = "\n  ".join(map(str, tried))
    return (
        f"BREC was not found; pass --data DIR or set DROPGNN_DATA. Wanted {PUBLISHED}, or {', '.join(FILES)} (.npy), in\n"
        f"  {places}"
    )


load_brec_once = cache(load_brec)
"""The same, read once per process: for trials, of which there are many."""


def kind_of(number: int) -> str:
    """Which kind a pair is.

    >>> kind_of(0), kind_of(110), kind_of(399)
    ('basic', 'str', 'dr')
    """
    for kind, count in FILES.items():
        if number < count:
            return kind
        number -= count
    raise DataProblem(f"BREC has {sum(FILES.values())} pairs")


def _numbered(pairs: Iterator[tuple[nx.Graph, nx.Graph]]) -> list[BrecPair]:
    return [BrecPair(number, kind_of(number), a, b) for number, (a, b) in enumerate(pairs)]


def _raw(path: Path, pairs: int) -> Iterator[tuple[nx.Graph, nx.Graph]]:
    codes = _codes(path)
    if codes.size != 2 * pairs:
        raise DataProblem(f"{path} must hold {pairs} pairs, {2 * pairs} graphs; it holds {codes.size:,} graphs{AGAIN}")
    yield from ((_graph(a, path), _graph(b, path)) for a, b in codes.reshape(-1, 2))


def _published(path: Path) -> Iterator[tuple[nx.Graph, nx.Graph]]:
    codes, pairs = _codes(path), sum(FILES.values())
    block = 2 * RELABELLED
    if codes.size < pairs * block:
        raise DataProblem(f"{path} must hold {pairs} blocks of {block} graphs; it holds {codes.size:,} graphs{AGAIN}")
    chosen = codes.reshape(-1)[: pairs * block].reshape(pairs, block)[:, :2]
    yield from ((_graph(a, path), _graph(b, path)) for a, b in chosen)


def _graph(code: str | bytes, path: Path) -> nx.Graph:
    try:
        plain = code.encode("ascii") if isinstance(code, str) else bytes(code)
        return nx.from_graph6_bytes(plain.strip())
    except (nx.NetworkXError, ValueError, IndexError) as problem:
        raise DataProblem(f"{path} holds what is not a graph6 code: {code[:SHOWN]!r} ({problem}){AGAIN}") from problem


def _codes(path: Path) -> np.ndarray:
    """The strings of a file."""
    codes = open_npy(path)
    if codes.dtype.kind not in "SU":
        raise DataProblem(f"{path} is not an array of strings but of numbers ({codes.dtype}){AGAIN}")
    return codes
