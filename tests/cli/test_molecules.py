"""``dropgnn predict``: from a table of molecules to a table of properties, whatever is in it."""

from __future__ import annotations

import csv
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from dropgnn.cli.main import commands
from dropgnn.data.qm9.dataset import QM9
from dropgnn.data.qm9.smiles import LARGEST, LONGEST, FromSmiles, molecule_from_smiles
from dropgnn.molecules.fitting import Fit
from dropgnn.molecules.models import Settings
from dropgnn.molecules.table import _rows
from dropgnn.molecules.trained import TrainedModel
from tests.cli.running import dropgnn

RUNNER = CliRunner(env={"COLUMNS": "200"})
CAGE = "CC1N=C2CC3(C)C1N23"


def trained(few: QM9, name: str, folder: Path) -> Path:
    fit = Fit(Settings(name, targets=("gap",), limit=20, epochs=1, batch_size=16), few)
    fit.run()
    TrainedModel.of(fit).save(folder / "gap.safetensors")
    return folder / "gap.safetensors"


@pytest.fixture(scope="module")
def model(few: QM9, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(few, "1-gnn", tmp_path_factory.mktemp("models"))


def predict(model: Path, table: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return dropgnn("predict", str(model), str(table), *options, COLUMNS="200")


def predict_in_a_process(model: Path, table: Path) -> subprocess.CompletedProcess[str]:
    """In a process of its own: what crashes shows as a traceback, or as a signal."""
    command = [sys.executable, "-m", "dropgnn", "predict", str(model), str(table)]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | {"COLUMNS": "200"})


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


@pytest.mark.parametrize("kind", ["1-gnn", "mpnn"])
def test_good_rows_are_predicted_and_bad_ones_reported_by_line(kind: str, few: QM9, tmp_path: Path) -> None:
    model = trained(few, kind, tmp_path)
    hostile = {
        "methane": "C",
        "twice": "CCO",
        "no molecule": "C1CC",
        "nothing": "",
        "metal": "[Fe]",
        "salt": "[Na+].[Cl-]",
        "mixture": "CC.CO",
        "long": "C" * (LONGEST + 1),
        "large": "C" * LARGEST,
        "dative": "N->O",
        "wild": "*C",
        "hydrogen": "[H][H]",
        "atom": "[H]",
        "escape": "\x1b[2J",
        "charged": "[NH4+]",
        "formula": "=cmd|' /C calc'!A0",
        "ünïcode": "CO",
    }
    table = tmp_path / "molecules.csv"
    with table.open("w", encoding="utf-8", newline="") as text:
        writer = csv.writer(text)
        writer.writerow(["name", "SMILES", "note"])
        writer.writerows([name, smiles, "a, b"] for name, smiles in hostile.items())
        writer.writerow(["twice", "CCO", "x"])
        writer.writerow(["short"])
        writer.writerow(["long", "CC", "x", "y", "z\x1b[2J"])
        writer.writerow(["", "", ""])
    done = predict(model, table)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    found = rows(tmp_path / "molecules.predicted.csv")
    assert [row["name"] for row in found] == [*hostile, "twice", "short", "long", ""]
    good = {"methane", "twice", "hydrogen", "atom", "charged", "ünïcode"}
    for line, row in enumerate(found, start=2):
        assert bool(row["gap [Hartree]"]) == (row["name"] in good), row
        assert bool(row["problem"]) == (row["name"] not in good), row
        if row["problem"]:
            assert f"molecules.csv, line {line}: {row['problem']}" in done.stderr
    by_name = {row["name"]: row for row in found}
    assert "has Fe; QM9 knows H, C, N, O and F" in by_name["metal"]["problem"]
    assert float(by_name["methane"]["gap spread [Hartree]"]) > 0
    one, other = (row for row in found if row["name"] == "twice")
    assert one["gap [Hartree]"] == other["gap [Hartree]"]  # whatever stands around it
    assert "made by RDKit" in done.stdout
    assert "7 of 21 molecules predicted" in done.stdout
    assert by_name["charged"]["remark"].startswith("charged; QM9 has neutral molecules")
    assert "\x1b[2J" not in done.stderr
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        (b"", (), "is empty"),
        (b"\n\n", (), "is empty"),
        (b"name,formula\nwater,O\n", (), "has no column 'smiles' among 'name, formula'"),
        (b"Smiles,SMILES\nO,O\n", (), "has 2 columns 'smiles'"),
        (b"smiles\nO\n", ("--column", "mol"), "has no column 'mol'"),
        (b"smiles,gap [Hartree]\nO,1\n", (), "already has a column 'gap [Hartree]'"),
        (b"\xff\xfes\x00m\x00i\x00l\x00e\x00s\x00\n\x00O\x00", (), "is in UTF-16; save it in UTF-8"),
        (b"\x1f\x8b\x08\x00", (), "is compressed; unpack it first"),
        (b"PK\x03\x04", (), "is a ZIP archive or a spreadsheet; save it as CSV"),
        (b'"smiles\nC\n', (), "is not a CSV file: the header, '\"smiles', is broken"),
        (b"\x89PNG\r\n\x1a\n", (), "has no column 'smiles'"),
    ],
)
def test_files_that_are_no_tables(
    content: bytes, options: tuple[str, ...], said: str, model: Path, tmp_path: Path
) -> None:
    table = tmp_path / "molecules.csv"
    table.write_bytes(content)
    result = RUNNER.invoke(commands, ["predict", str(model), str(table), *options])
    assert result.exit_code != 0
    assert said in str(result.exception)
    assert not (tmp_path / "molecules.predicted.csv").exists()


def test_a_broken_row_does_not_take_the_others_along(model: Path, tmp_path: Path) -> None:
    surplus = ",".join(f"field {number}" for number in range(50))
    content = [
        b"name,smiles",
        b"caf\xe9,C",
        b"no molecule,C\xe9",
        b'"two\nlines",CO',
        b'"closed"badly,C',
        b'"open,C',
        f"many,C,{surplus}".encode(),
        b"last,O",
    ]
    (tmp_path / "molecules.csv").write_bytes(b"\n".join(content) + b"\n")
    done = predict(model, tmp_path / "molecules.csv")
    assert done.returncode == 1
    assert "3 of 7 molecules predicted" in done.stdout
    said = {
        3: "",
        6: "no row of a CSV file",
        7: "no row of a CSV file",
        8: "52 fields where the header has 2; too many",
    }
    for line, problem in said.items():
        assert f"molecules.csv, line {line}: {problem}" in done.stderr
    written = (tmp_path / "molecules.predicted.csv").read_bytes()
    assert b"caf\xe9,C,0" in written or b"caf\xe9,C,-0" in written
    for kept in (b'closed""badly,C', b'""open,C', surplus.replace(",", ", ").encode()):
        assert kept in written


class Trap:
    """Unpickled, it leaves a file."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, (str(self.mark),)


@pytest.mark.parametrize(
    "damage", ["pickle", "torch", "truncated", "changed", "disguised"]
)  # and more in tests/molecules/test_trained.py
def test_a_damaged_or_hostile_model_is_refused(damage: str, model: Path, tmp_path: Path) -> None:
    bad, mark, content = tmp_path / "bad.safetensors", tmp_path / "executed", model.read_bytes()
    table = tmp_path / "molecules.csv"
    table.write_text("smiles\nC\n")
    if damage == "torch":
        torch.save({"model": Trap(mark)}, bad)
    else:
        bad.write_bytes(
            {
                "pickle": pickle.dumps(Trap(mark)),
                "truncated": content[: len(content) // 2],
                "changed": content[:-1] + bytes([content[-1] ^ 1]),
                "disguised": (2).to_bytes(8, "little") + b"{}" + pickle.dumps(Trap(mark)),
            }[damage]
        )
    done = (predict_in_a_process if damage == "disguised" else predict)(bad, table)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    said = "must be a file made by dropgnn train" if damage in ("pickle", "torch") else "bad.safetensors is damaged"
    assert said in done.stderr.replace("\n", " ")
    assert not mark.exists()
    assert not (tmp_path / "molecules.predicted.csv").exists()
    make, given = Trap(mark).__reduce__()
    make(*given)  # the trap is one
    assert mark.exists()


def test_a_file_of_open_quotes_is_read_once() -> None:
    lines = ['a","b\n'] * 3_000
    with_rows = list(_rows(lines))
    assert [row.line for row in with_rows] == list(range(1, 3_001))
    assert all(row.broken for row in with_rows)


def test_interrupted_what_was_predicted_is_kept(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def until(smiles: str) -> FromSmiles:
        if seen:
            raise KeyboardInterrupt
        seen.append(smiles)
        return molecule_from_smiles(smiles)

    monkeypatch.setattr("dropgnn.molecules.table.molecule_from_smiles", until)
    (tmp_path / "two.csv").write_text("smiles\nC\nCC\n")
    (tmp_path / "two.predicted.csv.part").write_text("precious")  # an earlier one's
    result = RUNNER.invoke(commands, ["predict", str(model), str(tmp_path / "two.csv")])
    assert result.exit_code == 130
    assert not (tmp_path / "two.predicted.csv").exists()
    (left,) = tmp_path.glob(f"two.predicted.csv.{os.getpid()}.part")
    assert f"interrupted; what was predicted is in {left}" in result.stderr
    assert [row["smiles"] for row in rows(left)] == ["C"]
    assert (tmp_path / "two.predicted.csv.part").read_text() == "precious"


@pytest.mark.parametrize("out", ["nowhere/out.csv", ".", "/proc/out.csv"])
def test_places_that_cannot_be_written(out: str, model: Path, tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("smiles\nC\n")
    result = RUNNER.invoke(commands, ["predict", str(model), str(tmp_path / "one.csv"), "--out", str(tmp_path / out)])
    assert "'--out' must" in str(result.exception)


def test_a_colleague_may_read_the_model(model: Path, tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    assert model.stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.parametrize(
    ("header", "way_out"),
    [
        ("smiles,smiles", "rename all but one"),
        ("name;smiles", "columns are separated by commas"),
        ("name,smi", "--column"),
    ],
)
def test_headers_in_which_the_column_is_not_there_once(header: str, way_out: str, model: Path, tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_text(f"{header}\nC,C\n")
    result = RUNNER.invoke(commands, ["predict", str(model), str(tmp_path / "odd.csv")])
    assert way_out in str(result.exception)


def test_a_column_may_be_told_by_its_capitals(model: Path, tmp_path: Path) -> None:
    (tmp_path / "two.csv").write_text("smiles,SMILES\nno,C\n")
    result = RUNNER.invoke(commands, ["predict", str(model), str(tmp_path / "two.csv"), "--column", "SMILES"])
    assert "1 of 1 molecules predicted" in result.output
    assert "gap spread: on validation molecules the median ratio of error to spread is" in result.output


def test_spelling_makes_no_difference(model: Path) -> None:
    trained = TrainedModel.load(model)
    for spellings in (("CC(=O)N", "NC(C)=O", "O=C(N)C"), ("CCO", "OCC", "C(C)O")):
        found = {trained.predict(molecule_from_smiles(smiles).molecule)["gap"] for smiles in spellings}
        assert len(found) == 1


def test_nothing_is_overwritten(model: Path, tmp_path: Path) -> None:
    (tmp_path / "molecules.csv").write_text("smiles\nC\n")
    (tmp_path / "molecules.predicted.csv").write_text("precious")
    result = RUNNER.invoke(commands, ["predict", str(model), str(tmp_path / "molecules.csv")])
    assert "'--out' must not exist yet" in str(result.exception)
    assert (tmp_path / "molecules.predicted.csv").read_text() == "precious"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_end_as_they_did(end: str, model: Path, tmp_path: Path) -> None:
    (tmp_path / "two.csv").write_text(end.join(["smiles", "C", "O", ""]), newline="")
    RUNNER.invoke(commands, ["predict", str(model), str(tmp_path / "two.csv")])
    written = (tmp_path / "two.predicted.csv").read_bytes()
    assert (written.count(b"\n"), written.count(b"\r\n")) == (3, 3 * (end == "\r\n"))


def test_a_header_alone_and_a_byte_order_mark(model: Path, tmp_path: Path) -> None:
    (tmp_path / "none.csv").write_text("\ufeffsmiles\n", encoding="utf-8")
    result = RUNNER.invoke(commands, ["predict", str(model), str(tmp_path / "none.csv")])
    assert result.exit_code == 0
    assert "0 of 0 molecules predicted" in result.output


def test_molecules_unlike_those_of_the_training_are_named_once(model: Path, tmp_path: Path) -> None:
    """Biphenyl has twelve atoms other than hydrogen, QM9 at most nine."""
    (tmp_path / "five.csv").write_text("smiles\n" + "c1ccccc1-c1ccccc1\n" * 4 + "CCO\n")
    done = predict(model, tmp_path / "five.csv")
    assert done.returncode == 0
    found = rows(tmp_path / "five.predicted.csv")
    assert re.search(r"12 atoms other than hydrogen; trained on \d to \d$", found[0]["remark"])
    assert "4 of 5 predictions are for molecules outside of those that the model was trained on (" in done.stderr
    assert done.stderr.count("five.csv, line ") == 3
    assert "and 1 more, see the column 'remark'" in done.stderr


def test_a_model_that_does_not_say_what_it_was_trained_on(model: Path, tmp_path: Path) -> None:
    """As older versions wrote them."""
    replace(TrainedModel.load(model), seen=None).save(tmp_path / "old.safetensors")
    (tmp_path / "one.csv").write_text("smiles\nc1ccccc1-c1ccccc1\n")
    done = predict(tmp_path / "old.safetensors", tmp_path / "one.csv")
    assert done.returncode == 0
    assert "does not record the sizes and elements it was trained on" in done.stderr
