"""How many runs testing needs: trained with 50, tested with 1 to 50."""

from __future__ import annotations

from collections.abc import Sequence

from dropgnn.experiments.beyond_wl import TASKS, TEST_RUNS, TESTS, Trial
from dropgnn.experiments.studies.scale import Scale
from dropgnn.experiments.summary import Curve, Figure, Found, Summary

TITLE = "Number of runs in testing"
CHOSEN = ("limits1", "four_cycles", "triangles")


def trials(scale: Scale) -> list[Trial]:
    """The dropout column of Table 1: these models are tested with every number of runs anyway."""
    return [trial for task in CHOSEN for trial in scale.trials(task)]


def summarize(found: Sequence[Found]) -> Summary:
    """Test accuracy by the number of runs."""
    curves = tuple(Curve(TASKS[task], tuple(_point(found, task, runs) for runs in TEST_RUNS)) for task in CHOSEN)
    note = f"{TESTS} tests of every trained model"
    return [Figure(TITLE, "runs in testing (training: 50)", curves, note)]


def _point(found: Sequence[Found], task: str, runs: int) -> tuple[float, tuple[float, ...]]:
    every = (one.result["by_runs"][str(runs)] for one in found if one.trial.task == task)
    return runs, tuple(accuracy for tests in every for accuracy in tests)
