"""``dropgnn train``: a model for each target or one for all, and settings that make no sense."""

from __future__ import annotations

from pathlib import Path

import pytest

from dropgnn.cli.main import commands
from dropgnn.data.qm9.dataset import QM9
from dropgnn.molecules.trained import TrainedModel
from tests.cli.test_molecules import RUNNER, rows


def test_train_then_predict(few: QM9, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dropgnn.cli.train.load_qm9", lambda folder: few)
    out = tmp_path / "model.safetensors"
    train = ["train", "qm9", "--target", "gap", "--limit", "40", "--epochs", "1", "--out", str(out)]
    result = RUNNER.invoke(commands, train)
    assert result.exit_code == 0, result.exception
    assert "gap, HOMO-LUMO gap" in result.output
    assert "Hartree" in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["model.safetensors"]
    assert "1-GNN for gap is trained" in RUNNER.invoke(commands, train).output
    assert "'--out' must not exist yet" in str(RUNNER.invoke(commands, [*train, "--seed", "1"]).exception)
    (tmp_path / "two.csv").write_text("name,smiles\nwater,O\nethanol,CCO\n")
    result = RUNNER.invoke(commands, ["predict", str(out), str(tmp_path / "two.csv")])
    assert result.exit_code == 0, result.exception
    assert all(float(row["gap [Hartree]"]) for row in rows(tmp_path / "two.predicted.csv"))


def test_a_model_for_each_target_or_one_for_all(few: QM9, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dropgnn.cli.train.load_qm9", lambda folder: few)
    monkeypatch.chdir(tmp_path)
    train = ["train", "qm9", "--target", "mu,gap", "--limit", "20", "--epochs", "1", "--drops", "none"]
    assert RUNNER.invoke(commands, train).exit_code == 0
    assert RUNNER.invoke(commands, [*train, "--together", "--out", "both.safetensors"]).exit_code == 0
    assert {path.name for path in tmp_path.iterdir()} == {
        "qm9-mu-1-gnn-none-20-limit-1-epochs.safetensors",
        "qm9-gap-1-gnn-none-20-limit-1-epochs.safetensors",
        "both.safetensors",
    }
    assert TrainedModel.load(tmp_path / "both.safetensors").settings.targets == ("mu", "gap")


def test_a_limit_above_the_number_of_molecules(few: QM9, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other settings are checked before the data is read: tests/cli/test_arguments.py."""
    monkeypatch.setattr("dropgnn.cli.train.load_qm9", lambda folder: few)
    result = RUNNER.invoke(commands, ["train", "qm9", "--out", str(tmp_path / "model"), "--limit", "5000"])
    assert "'--limit' must lie between 10 and the number of molecules, 120" in str(result.exception)
    assert not list(tmp_path.iterdir())
