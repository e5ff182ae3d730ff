"""How many runs testing needs: trained with 50, tested with 1 to 50."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dropgnn.experiments.beyond_wl import TASKS, TEST_RUNS, TESTS, Trial
from dropgnn.experiments.studies.scale import Scale
from dropgnn.experiments.summary import Curve, Figure, Found, Summary

TITLE = "Number of runs in testing"
CHOSEN = ("limits1", "four_cycles", "triangles")


RATES = {"constant": "the paper's constant learning rate", "cosine": "a decaying learning rate"}


def trials(scale: Scale) -> list[Trial]:
    """Two dropout columns of Table 1: these models are tested with every number of runs anyway."""
    schedules = dict.fromkeys((scale.schedule, "cosine"))
    return [
        trial for task in CHOSEN for schedule in schedules for trial in replace(scale, schedule=schedule).trials(task)
    ]


def summarize(found: Sequence[Found]) -> Summary:
    """Test accuracy by the number of runs, for each learning rate that there are results for."""
    there = [rate for rate in RATES if any(one.trial.schedule == rate for one in found)]
    return [_figure([one for one in found if one.trial.schedule == rate], rate) for rate in there or list(RATES)[:1]]


def _figure(found: Sequence[Found], rate: str) -> Figure:
    curves = tuple(Curve(TASKS[task], tuple(_point(found, task, runs) for runs in TEST_RUNS)) for task in CHOSEN)
    note = f"{TESTS} tests of every trained model"
    return Figure(f"{TITLE}, {RATES[rate]}", "runs in testing (training: 50)", curves, note)


def _point(found: Sequence[Found], task: str, runs: int) -> tuple[float, tuple[float, ...]]:
    every = (one.result["by_runs"][str(runs)] for one in found if one.trial.task == task)
    return runs, tuple(accuracy for tests in every for accuracy in tests)
