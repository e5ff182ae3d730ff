"""BREC: 400 pairs of graphs that 1-WL cannot tell apart (Wang and Zhang, ICML 2024)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import networkx as nx
import numpy as np

from dropgnn.data.locate import data_folders
from dropgnn.errors import DataProblem

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


def load_brec(given: Path | None = None) -> list[BrecPair]:
    """All pairs, from the raw files or from the published ``brec_v3.npy``, whichever is found first.

    Args:
        given: A folder with either; by default as for other data, in a folder ``brec``.
    """
    tried = [folder / middle for folder in data_folders(given) for middle in ("", "brec")]
    for folder in tried:
        if (folder / PUBLISHED).is_file():
            return _pairs(_published(folder / PUBLISHED))
        if all((folder / f"{name}.npy").is_file() for name in FILES):
            return _pairs(code for name, count in FILES.items() for code in _raw(folder / f"{name}.npy", count))
    places = "\n  ".join(map(str, tried))
    raise DataProblem(
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


def _pairs(codes: Iterator[tuple[bytes, bytes]]) -> list[BrecPair]:
    return [BrecPair(number, kind_of(number), _graph(a), _graph(b)) for number, (a, b) in enumerate(codes)]


def _graph(code: bytes) -> nx.Graph:
    try:
        return nx.from_graph6_bytes(code.strip())
    except (nx.NetworkXError, ValueError, IndexError) as problem:
        raise DataProblem(f"BREC holds what is not a graph6 code: {code[:40]!r} ({problem})") from problem


def _raw(path: Path, pairs: int) -> Iterator[tuple[bytes, bytes]]:
    codes = _codes(path)
    if codes.size != 2 * pairs:
        raise DataProblem(f"{path} must hold {pairs} pairs, {2 * pairs} graphs; it holds {codes.size}")
    yield from ((_bytes(a), _bytes(b)) for a, b in codes.reshape(-1, 2))


def _published(path: Path) -> Iterator[tuple[bytes, bytes]]:
    codes, pairs = _codes(path).reshape(-1), sum(FILES.values())
    block = 2 * RELABELLED
    if codes.size < pairs * block:
        raise DataProblem(f"{path} must hold {pairs} blocks of {block} graphs; it holds {codes.size:,} graphs")
    yield from ((_bytes(codes[block * number]), _bytes(codes[block * number + 1])) for number in range(pairs))


def _codes(path: Path) -> np.ndarray:
    """The strings of a file. Nothing is unpickled: that could execute what a file says."""
    try:
        return np.load(path, allow_pickle=False)
    except ValueError as problem:
        raise DataProblem(
            f"{path} is not an array of strings ({problem}); convert it once where you trust it: "
            "np.save(path, np.array(list(map(bytes, np.load(path, allow_pickle=True)))))"
        ) from problem


def _bytes(code: object) -> bytes:
    return code.encode() if isinstance(code, str) else bytes(code)  # type: ignore[call-overload]
