"""Arrays in ``.npy`` files that may be damaged or forged.

numpy evaluates a header as a Python literal, and takes as much memory as the header asks for. Here a header is matched against
a pattern, and its size is compared with that of the file before anything else is read. Nothing is unpickled.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np

from dropgnn.errors import DataProblem

MAGIC = b"\x93NUMPY"
LONGEST_HEADER = 10_000
SHOWN = 60

FIELDS = {
    name: re.compile(rf"'{name}'\s*:\s*{value}\s*[,}}]")
    for name, value in (
        ("descr", r"'([<>=|]?[a-zA-Z]\d{0,9})'"),
        ("fortran_order", "(True|False)"),
        ("shape", r"\(((?:\s*\d{1,18}\s*,)*\s*(?:\d{1,18})?\s*)\)"),
    )
}
"""What stands in a header, in any order."""

KINDS = "biufSU"
"""Truth values, numbers and strings, as numpy calls their kinds."""

UNPICKLE = (
    "; convert it once where you trust it: np.save(path, np.array(list(map(bytes, np.load(path, allow_pickle=True)))))"
)


def open_npy(path: Path) -> np.ndarray:
    """The array of numbers or strings in a file, mapped into memory, where it cannot be changed.

    Raises:
        DataProblem: For a file that is no such array, or whose header asks for another size than the file has.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            beginning = file.read(LONGEST_HEADER)
    except OSError as problem:
        raise DataProblem(f"{path} cannot be read ({problem.strerror})") from problem
    header, start = _header(path, beginning)
    values = {name: pattern.search(header) for name, pattern in FIELDS.items()}
    if "descr" in header and values["descr"] is None:
        shown = header[:SHOWN].strip()
        raise DataProblem(f"{path} is not an array of strings or numbers (its header says {shown!r}){UNPICKLE}")
    if any(value is None for value in values.values()):
        raise DataProblem(f"{path} is damaged: {header[:SHOWN]!r} is not the header of an array")
    descr, fortran, dimensions = (value[1] for value in values.values() if value is not None)
    shape = tuple(int(length) for length in dimensions.split(",") if length.strip())
    try:
        dtype = np.dtype(descr)
    except TypeError as problem:
        raise DataProblem(f"{path} is damaged: {descr!r} is not a type of strings or numbers") from problem
    if dtype.kind not in KINDS or dtype.itemsize == 0:
        raise DataProblem(f"{path} is not an array of strings or numbers (its type is {descr!r}){UNPICKLE}")
    wanted = start + math.prod(shape) * dtype.itemsize
    if size != wanted:
        raise DataProblem(f"{path} is damaged: it has {size:,} bytes where its header asks for {wanted:,}")
    if size == start:  # nothing can be mapped
        return np.zeros(shape, dtype)
    return np.memmap(path, dtype, "r", start, shape, "F" if fortran == "True" else "C")


def _header(path: Path, beginning: bytes) -> tuple[str, int]:
    """The text of a header, and where the array begins."""
    version = beginning[len(MAGIC) : len(MAGIC) + 1]
    if not beginning.startswith(MAGIC) or version not in (b"\x01", b"\x02", b"\x03"):
        raise DataProblem(f"{path} is not a file of numpy (.npy)")
    first = len(MAGIC) + (4 if version == b"\x01" else 6)
    start = first + int.from_bytes(beginning[len(MAGIC) + 2 : first], "little")
    if start > len(beginning):
        raise DataProblem(
            f"{path} is damaged: its header ends behind the file, or is longer than {LONGEST_HEADER} bytes"
        )
    return beginning[first:start].decode("latin1"), start
