"""Damage that once came out as an error of Python's or numpy's, one test each."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dropgnn.errors import DataProblem
from dropgnn.experiments.archive import load_archive
from dropgnn.experiments.studies import STUDIES as ALL_STUDIES
from dropgnn.report.brec import load_trained
from tests.fuzz.mutations import npy_header
from tests.fuzz.readers import READERS

BY_NAME = {reader.name: reader for reader in READERS}
DEEP = "[" * 100_000


def spoil(name: str, folder: Path, file: str, change: Callable[[Path], None], message: str) -> None:
    """What a reader says once one of its good files is changed."""
    what = BY_NAME[name].write(folder)
    BY_NAME[name].read(what)
    change(folder / file)
    with pytest.raises(DataProblem, match=message):
        BY_NAME[name].read(what)


def save(array: np.ndarray) -> Callable[[Path], None]:
    return lambda path: np.save(path, array)


ARRAYS: dict[str, tuple[str, np.ndarray, str]] = {
    "fewer atoms": ("x", np.zeros((35, 11), np.uint8), "x has 35 rows for 36 atoms"),
    "another type": ("position", np.zeros((36, 3)), r"position must be float32 of shape \(rows, 3\), is float64"),
    "another shape": ("bonds", np.zeros((24, 3), np.uint8), r"bonds must be uint8 of shape \(rows, 2\)"),
    "ends elsewhere": ("bonds", np.full((24, 2), 3, np.uint8), "an end that is no other atom"),
    "an unknown kind": ("kinds", np.full(24, 4, np.uint8), "a kind of bond is not one of the 4"),
    "no number": ("properties", np.full((12, 12), np.nan), "is not a finite number"),
    "fewer than no atoms": ("atoms", np.full(12, -3, np.int32), "a molecule has 1 to 255 atoms"),
    "a giant": ("atoms", np.full(12, 10**9, np.int32), "a molecule has 1 to 255 atoms"),
    "no molecule": ("atoms", np.zeros(0, np.int32), "there is no molecule"),
    "fewer molecules": ("many_bonds", np.zeros(11, np.int32), "many_bonds has 11 rows for 12 molecules"),
}


@pytest.mark.parametrize(("name", "array", "message"), ARRAYS.values(), ids=ARRAYS)
def test_arrays_of_molecules_that_do_not_fit_together(
    name: str, array: np.ndarray, message: str, tmp_path: Path
) -> None:
    expected = rf"{tmp_path.name} is damaged \(.*{message}.*\); remove it"
    spoil("QM9 arrays", tmp_path, f"{name}.npy", save(array), expected)


@pytest.mark.parametrize(
    "content", [npy_header("<f8", (10**9,)), b"\x93NUMPY\x01\x00\x02\x00((", npy_header("<i4", (2**63,)), b""]
)
def test_forged_arrays_of_molecules(content: bytes, tmp_path: Path) -> None:
    spoil("QM9 arrays", tmp_path, "atoms.npy", lambda path: _write(path, content), r"atoms.npy is .*remove it")


@pytest.mark.parametrize("file", ["smiles.txt", "left_out.json"])
@pytest.mark.parametrize("content", [b"\xff\xfe", DEEP.encode(), b'[{"number": "a", "smiles": 1, "reason": null}]'])
def test_texts_beside_the_arrays(file: str, content: bytes, tmp_path: Path) -> None:
    spoil("QM9 arrays", tmp_path, file, lambda path: _write(path, content), rf"is damaged \(.*{file}.*\); remove it")


@pytest.mark.parametrize("file", ["gdb9.sdf", "gdb9.sdf.csv", "uncharacterized.txt"])
def test_a_folder_of_pyg_that_is_no_text(file: str, tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    spoil("folder of PyG", tmp_path, f"raw/{file}", lambda path: _write(path, b"\xff" + path.read_bytes()), rf"{file} ")


def test_a_bond_of_a_strange_kind(tmp_path: Path) -> None:
    """A dative bond, type 9, which molecules of QM9 do not have."""
    pytest.importorskip("rdkit")
    message = r"gdb9.sdf, molecule 1 \(.*gdb9.sdf.csv, row 2\): not a molecule \(KeyError.*take the file"
    change = lambda path: path.write_text(path.read_text().replace("  1  2  1  0", "  1  2  9  0"))  # noqa: E731
    spoil("folder of PyG", tmp_path, "raw/gdb9.sdf", change, message)


@pytest.mark.parametrize(
    ("old", "new"), [("0.12", "1e999"), ("[0.,0.", "[[0.,0."), ("'H','H'", "'H'"), ("11.5", "nan"), ("3,O", "-3,O")]
)
def test_rows_of_molecules(old: str, new: str, tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    change = lambda path: path.write_text(path.read_text().replace(old, new))  # noqa: E731
    spoil("qm9pack", tmp_path, "molecules.csv", change, r"molecules.csv, row 2: not a molecule")


def edited(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def apply(path: Path) -> None:
        document = json.loads(path.read_text())
        change(document)
        path.write_text(json.dumps(document))

    return apply


STUDIES: dict[str, tuple[str, Callable[[dict[str, Any]], object], str]] = {
    "trials of another study": ("modes", lambda it: it["trials"][0].update(result={}), "must have train, test"),
    "an unknown task": ("modes", lambda it: it["trials"][0]["trial"].update(task="limits9"), "'task' must be one of"),
    "another method": (
        "modes",
        lambda it: it["trials"][0]["trial"].update(method="gin"),
        "must be one that study modes has",
    ),
    "a word for a number": (
        "table1",
        lambda it: it["trials"][0]["result"].update(test="high"),
        "result of a trial: test",
    ),
    "a number beyond bounds": (
        "table1",
        lambda it: it["trials"][0]["result"].update(test=10**400),
        "result of a trial: test",
    ),
    "fewer tests": ("figure-runs", lambda it: it["trials"][0]["result"].update(by_runs={}), "must have all tests"),
    "a trial twice": ("table3", lambda it: it["trials"].append(it["trials"][0]), "'trials' must be different"),
    "fewer planned than done": (
        "table3",
        lambda it: it.update(planned=1),
        "'planned' must be a whole number of at least 2",
    ),
    "curves of other lengths": (
        "table2",
        lambda it: it["trials"][0]["result"].update(curve=[0.5]),
        "as long on every fold",
    ),
    "no curve": (
        "table2",
        lambda it: it["trials"][0]["result"].update(curve=[]),
        "must have an accuracy for every epoch",
    ),
    "versions of no kind": ("table1", lambda it: it.update(versions={"torch": 2}), "must be texts"),
    "half a character": ("table1", lambda it: it.update(command="\ud800"), "is not JSON"),
}


@pytest.mark.parametrize(("study", "change", "message"), STUDIES.values(), ids=STUDIES)
def test_studies(study: str, change: Callable[[dict[str, Any]], object], message: str, tmp_path: Path) -> None:
    expected = rf"{study}.json is not a study's file \((.|\n)*{message}(.|\n)*\); remove it, or make it again"
    spoil(f"study {study}", tmp_path, f"{study}.json", edited(change), expected)


@pytest.mark.parametrize(
    ("name", "file"), [("study table1", "table1.json"), ("trained on BREC", "trained.json"), ("trial", None)]
)
@pytest.mark.parametrize("content", [DEEP, '{"a":' * 100_000, "9" * 5_000, "\x00", "null"])
def test_json_that_is_none_of_ours(name: str, file: str | None, content: str, tmp_path: Path) -> None:
    BY_NAME[name].write(tmp_path)
    written = tmp_path / file if file else next(tmp_path.glob("squares-*.json"))
    written.unlink()
    spoil(name, tmp_path, written.name, lambda path: _write(path, content.encode()), rf"{file or tmp_path.name}")


BREC: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "pair 400": (lambda it: it["pairs"][0].update(pair=400), "BREC has 400 pairs"),
    "another kind": (lambda it: it["pairs"][0].update(kind="cfi"), "pair 0 is of kind basic"),
    "a million layers": (lambda it: it.update(layers=10**6), "at most 1000"),
    "no k": (lambda it: it["pairs"][0].update(k=None), "'k' must be a whole number"),
    "a word": (lambda it: it["pairs"][0].update(t2="large"), "has t2 'large'"),
    "a certificate": (lambda it: [it.pop(name) for name in ("method", "layers")], "has no method and no layers"),
}


@pytest.mark.parametrize(("change", "message"), BREC.values(), ids=BREC)
def test_results_on_brec(change: Callable[[dict[str, Any]], object], message: str, tmp_path: Path) -> None:
    spoil(
        "trained on BREC",
        tmp_path,
        "trained.json",
        edited(change),
        rf"trained.json is not what .*{message}.*run that again",
    )


def test_results_of_the_repository_are_not_refused() -> None:
    """Those of the first weeks neither."""
    files = sorted((Path(__file__).parents[2] / "results").glob("*.json"))
    if not files:
        pytest.skip("the results are not beside the tests")
    found = [load_archive(path).study for path in files if not path.name.startswith("brec")]
    assert set(found) <= set(ALL_STUDIES)
    assert [load_trained(path)["layers"] for path in files if path.name.startswith("brec_trained")]


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
