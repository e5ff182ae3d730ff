"""A hundred kills at random moments leave no trace: half of them while a study runs, half while a model is trained."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.cli.test_training_processes import environment, same
from tests.experiments.test_runner import COMMAND as STUDY
from tests.experiments.test_runner import files
from tests.kills import Command, finish, kill_until_done

__all__ = ["environment"]  # a fixture

KILLS = 50
TRAINING = ("train", "qm9", "--limit", "60", "--epochs", "6", "--batch-size", "8", "--target", "mu")

pytestmark = pytest.mark.heavy


def study(folder: Path) -> Command:
    kept = ("--work", str(folder / "runs"), "--results", str(folder / "results"))
    return Command((*STUDY, *kept, "--jobs", "1"), folder, folder)


def test_a_study_killed_again_and_again(tmp_path: Path) -> None:
    whole = study(tmp_path / "whole")
    finish(whole)
    moments, kills, rounds = random.Random(0), 0, 0
    while kills < KILLS:
        again = study(tmp_path / f"killed-{rounds}")
        kills += kill_until_done(again, moments, longest=1.0)
        assert files(again.folder) == files(whole.folder)
        rounds += 1


def test_a_training_killed_again_and_again(environment: dict[str, str], tmp_path: Path) -> None:
    def training(name: str) -> Command:
        return Command(TRAINING, tmp_path / name, Path(environment["XDG_CACHE_HOME"]), save_every=0.0)

    finish(training("whole"))
    moments, kills, rounds = random.Random(1), 0, 0
    while kills < KILLS:
        name = f"killed-{rounds}"
        kills += kill_until_done(training(name), moments, longest=1.0)
        for file in (tmp_path / "whole").iterdir():
            assert same(file, tmp_path / name / file.name)
        rounds += 1
