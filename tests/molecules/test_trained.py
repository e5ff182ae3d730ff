"""Models as files: what comes back is what was kept, and nothing else gets in."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from dropgnn.data.qm9.arrays import Arrays
from dropgnn.data.qm9.dataset import QM9
from dropgnn.data.qm9.smiles import molecule_from_smiles
from dropgnn.errors import DataProblem, DropGNNError
from dropgnn.molecules.fitting import Fit
from dropgnn.molecules.models import Settings
from dropgnn.molecules.trained import TrainedModel
from dropgnn.tensor_files import load_tensors, save_tensors
from dropgnn.training.loop import inputs


@pytest.fixture(scope="module")
def trained(few: QM9) -> TrainedModel:
    fit = Fit(Settings(targets=("gap", "mu"), limit=60, epochs=2, batch_size=16), few)
    fit.run()
    return TrainedModel.of(fit)


def test_a_model_comes_back_as_it_was(trained: TrainedModel, tmp_path: Path) -> None:
    trained.save(tmp_path / "model.safetensors")
    loaded = TrainedModel.load(tmp_path / "model.safetensors")
    assert loaded.settings == trained.settings
    assert (loaded.validation, loaded.test, loaded.best_epoch) == (trained.validation, trained.test, trained.best_epoch)
    acetamide = molecule_from_smiles("CC(N)=O").molecule
    assert loaded.predict(acetamide) == trained.predict(acetamide)


@pytest.mark.parametrize("preset", ["paper", "no-auxiliary"])
@pytest.mark.parametrize("drops", ["none", "random", "exact"])
def test_predictions_have_a_spread_where_single_runs_predict_too(drops: str, preset: str, few: QM9) -> None:
    fit = Fit(Settings(drops=drops, limit=20, epochs=1, batch_size=16, preset=preset), few)
    fit.run()
    found = TrainedModel.of(fit).predict(molecule_from_smiles("CCO").molecule)
    assert list(found) == ["gap"]
    assert torch.isfinite(torch.tensor(found["gap"].value))
    assert (found["gap"].spread is None) == (drops == "none" or preset == "no-auxiliary")
    if found["gap"].spread is not None:
        assert found["gap"].spread > 0


def test_a_prediction_is_that_of_the_slow_engine_in_the_unit_of_the_target(few: QM9) -> None:
    fit = Fit(Settings("mpnn", "exact", ("r2",), limit=60, epochs=1, batch_size=16), few)
    fit.run()
    trained = TrainedModel.of(fit)
    molecule = molecule_from_smiles("CC=O").molecule
    batch = Arrays.of([molecule]).graphs("complete").batch([0])
    trained.model.engine = "reference"
    with torch.no_grad():
        outcome = trained.model(*inputs(batch), return_outcome=True)
    trained.model.engine = "auto"
    single, weight = outcome.auxiliary[:, 0].double(), outcome.weight
    centre, scale = few.target("r2")[fit.split.train.numpy()].mean(), few.target("r2")[fit.split.train.numpy()].std()
    deviation = torch.sqrt((weight * (single - (weight * single).sum()).square()).sum())
    found = trained.predict(molecule)["r2"]
    assert found.value == pytest.approx(float(outcome.prediction) * scale + centre, rel=1e-5)
    assert found.spread == pytest.approx(float(deviation) * scale, rel=1e-3)


def test_damaged_changed_and_foreign_files_are_refused(trained: TrainedModel, tmp_path: Path) -> None:
    good = tmp_path / "good.safetensors"
    trained.save(good)
    content = good.read_bytes()

    def refused(content: bytes, match: str) -> None:
        (tmp_path / "bad.safetensors").write_bytes(content)
        with pytest.raises(DataProblem, match=match):
            TrainedModel.load(tmp_path / "bad.safetensors")

    refused(b"", "is damaged")
    refused(content[: len(content) // 2], "is damaged")
    refused(b"\xff" * 8 + content[8:], "is damaged")
    refused(content[:-1] + bytes([content[-1] ^ 1]), "changed after it was written")
    refused(content.replace(b"1-gnn", b"2-gnn"), "changed after it was written")
    refused(pickle.dumps({"weights": 1}), "is damaged")
    with pytest.raises(DataProblem, match="does not exist"):
        TrainedModel.load(tmp_path / "none.safetensors")
    with pytest.raises(DataProblem, match="does not exist, or is not a file"):
        TrainedModel.load(tmp_path)
    save_file({"a": torch.ones(1)}, tmp_path / "foreign.safetensors")
    with pytest.raises(DataProblem, match="was not written by dropgnn"):
        TrainedModel.load(tmp_path / "foreign.safetensors")


def test_a_file_that_is_whole_but_does_not_fit_is_refused(trained: TrainedModel, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    trained.save(path)
    tensors, facts = load_tensors(path)
    first = next(iter(tensors))
    for changed, match in (
        ((tensors, facts | {"model": 99}), "not a model's file"),
        ((tensors, facts | {"settings": facts["settings"] | {"model": "os.system"}}), "must be one of 1-gnn"),
        ((tensors, facts | {"settings": {}}), "does not fit"),
        ((tensors, facts | {"extra": 1}), "does not fit"),
        ((tensors, facts | {"m": 0}), "'m' must be a whole number"),
        ((tensors, facts | {"m": 10**9}), "'m' must be at most"),
        ((tensors, facts | {"centre": [1.0]}), "'centre' must have a number for every target"),
        ((tensors, facts | {"test": [1.0, float("nan")]}), "'test' must have a number for every target"),
        ((tensors, facts | {"deviation": ["a", "b"]}), "does not fit"),
        ((tensors, facts | {"deviation": [1.0, 0.0]}), "'deviation' must be positive for every target"),
        ((tensors, facts | {"spread_rank": None}), "does not fit"),
        *(
            ((tensors, facts | {"seen": facts["seen"] | wrong}), "does not fit")
            for wrong in (
                {"atoms": [3]},
                {"atoms": [9, 3]},
                {"heavy_atoms": ["a", "b"]},
                {"elements": ["Xx"]},
                {"elements": None},
                {"more": 1},
            )
        ),
        ((tensors, facts | {"seen": 3}), "does not fit"),
        (({name: value for name, value in tensors.items() if name != first}, facts), "does not fit"),
        ((tensors | {first: torch.ones(3)}, facts), "does not fit"),
    ):
        save_tensors(path, *changed)
        with pytest.raises(DataProblem, match=match):
            TrainedModel.load(path)


def test_the_header_is_json(trained: TrainedModel, tmp_path: Path) -> None:
    trained.save(tmp_path / "model.safetensors")
    with (tmp_path / "model.safetensors").open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    facts = json.loads(header["__metadata__"]["dropgnn"])
    assert facts["settings"]["targets"] == ["gap", "mu"]


def test_a_training_that_is_not_done_is_no_model(few: QM9) -> None:
    with pytest.raises(DropGNNError, match="in epoch 1 of 2"):
        TrainedModel.of(Fit(Settings(limit=20, epochs=2), few))


def test_the_validation_error_is_the_one_the_epoch_was_chosen_by(few: QM9) -> None:
    fit = Fit(Settings(limit=40, epochs=3, batch_size=8), few)
    fit.run()
    trained = TrainedModel.of(fit)
    best = min(error for _, error in fit.position.curve)
    assert trained.validation[0] == pytest.approx(best * float(fit.deviation))
