"""Results survive: kept as they come, found again, set aside when broken."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dropgnn.errors import DropGNNError
from dropgnn.experiments import runner
from dropgnn.experiments.runner import run_missing
from dropgnn.experiments.store import Store
from dropgnn.training.parallel import Finished
from tests.kills import spread_here


@dataclass(frozen=True)
class Square:
    number: int
    folder: str


def square(trial: Square, on_epoch: Callable[[int, float], None] | None) -> dict[str, Any]:
    """Leaves a mark in a folder, so that one sees whether it ran."""
    (Path(trial.folder) / f"ran-{trial.number}").touch()
    return {"square": trial.number**2, "seconds": 0.5}


def test_only_what_is_missing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "spread", spread_here)
    store, marks = Store(tmp_path / "runs", "squares"), tmp_path / "marks"
    marks.mkdir()
    trials = [Square(number, str(marks)) for number in range(4)]
    store.put(trials[2], {"square": 4}, seconds=1.0)
    news = [item for item in run_missing(square, trials, store, jobs=2) if isinstance(item, Finished)]
    assert sorted(item.number for item in news) == [0, 1, 3]
    assert sorted(path.name for path in marks.iterdir()) == ["ran-0", "ran-1", "ran-3"]
    assert [store.get(trial) for trial in trials] == [{"square": number**2} for number in range(4)]
    assert list(run_missing(square, trials, store, jobs=2)) == []


def test_a_broken_file_is_set_aside(tmp_path: Path) -> None:
    store, trial = Store(tmp_path, "squares"), Square(3, "")
    store.put(trial, {"square": 9}, seconds=0.0)
    one_digit = store.path(trial).read_text().replace('"square": 9', '"square": 8')
    for damage in ("", "{", '{"config": {}, "result": {}}', "[1]", "null", one_digit):
        store.put(trial, {"square": 9}, seconds=0.0)
        store.path(trial).write_text(damage)
        assert store.get(trial) is None
        assert not store.path(trial).exists()
        assert store.path(trial).with_suffix(".broken").read_text() == damage


def test_what_a_file_says(tmp_path: Path) -> None:
    store, trial = Store(tmp_path, "squares"), Square(3, "")
    store.put(trial, {"square": 9}, seconds=1.25)
    (path,) = tmp_path.iterdir()
    record = json.loads(path.read_text())
    assert record["config"] == {"experiment": "squares", "number": 3, "folder": ""}
    assert record["seconds"] == 1.25
    assert {"python", "torch"} <= record["versions"].keys()
    assert store.path(Square(4, "")) != path
    assert Store(tmp_path, "cubes").get(trial) is None


def test_a_trial_is_a_dataclass(tmp_path: Path) -> None:
    with pytest.raises(DropGNNError, match="a trial must be a dataclass, got dict"):
        Store(tmp_path, "squares").get({"number": 3})
