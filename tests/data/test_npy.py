"""Arrays in files: read as numpy reads them, or refused before memory is taken."""

from __future__ import annotations

import pickle
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from dropgnn.data.npy import open_npy
from dropgnn.errors import DataProblem
from tests.fuzz.mutations import npy_header


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize(
    "array",
    [
        np.arange(12.0).reshape(3, 4),
        np.asfortranarray(np.arange(12).reshape(3, 4)),
        np.array([b"A_", b"Dhc"]),
        np.array(["A_", "Dhc"]),
        np.array([True, False]),
        np.zeros((0, 3), np.uint8),
        np.array(7, np.int32),
        np.arange(5, dtype=">i8"),
    ],
    ids=lambda array: f"{array.dtype}-{array.ndim}",
)
def test_arrays_come_back(array: np.ndarray, version: tuple[int, int], tmp_path: Path) -> None:
    with (tmp_path / "a.npy").open("wb") as file:
        np.lib.format.write_array(file, array, version)
    found = open_npy(tmp_path / "a.npy")
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    assert np.array_equal(found, np.load(tmp_path / "a.npy"))


WRONG = {
    "asks for gigabytes": (npy_header("<f8", (10**9,)), r"it has 128 bytes where its header asks for 8,000,000,128"),
    "asks for more than there is": (npy_header("<f8", (10**17, 10**17)), "bytes where its header asks for"),
    "has more than it says": (npy_header("|u1", (2,)) + b"abc", "it has 131 bytes where its header asks for 130"),
    "is cut": (npy_header("|u1", (9,))[:40], "its header ends behind the file"),
    "is empty": (b"", "is not a file of numpy"),
    "is a pickle": (pickle.dumps([1]), "is not a file of numpy"),
    "has objects": (npy_header("|O", (1,)) + pickle.dumps([1]), r"is not an array of strings .*convert it once"),
    "has fields": (npy_header("[('a', '<f8')]", (1,)) + bytes(8), "is not an array of strings or numbers"),
    "has empty strings": (npy_header("|S0", (10**17,)), "is not an array of strings or numbers"),
    "has dates": (npy_header("<M8", (1,)) + bytes(8), "is not an array of strings or numbers"),
    "has no type": (npy_header("<i3", (1,)) + bytes(3), "'<i3' is not a type"),
    "has no shape": (npy_header("<f8", (1,)).replace(b"shape", b"shade") + bytes(8), "is not the header of an array"),
    "has brackets": (npy_header("<f8", (1,)).replace(b"(1,)", b"((((") + bytes(8), "is not the header of an array"),
}


@pytest.mark.parametrize(("content", "message"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said_before_memory_is_taken(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "wrong.npy").write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(DataProblem, match=rf"wrong\.npy .*{message}"):
            open_npy(tmp_path / "wrong.npy")
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataProblem, match=r"none.npy cannot be read"):
        open_npy(tmp_path / "none.npy")
