"""How much the dropout probability matters, in training and testing alike."""

from __future__ import annotations

from collections.abc import Sequence

from dropgnn.data.synthetic import task as make
from dropgnn.experiments.beyond_wl import TASKS, Trial
from dropgnn.experiments.studies.figure_runs import CHOSEN
from dropgnn.experiments.studies.scale import FULL, Scale
from dropgnn.experiments.summary import Curve, Figure, Found, Summary
from dropgnn.training.presets import PRESETS

TITLE = "Dropout probability"
PROBABILITIES = (0.0, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 0.95)


def trials(scale: Scale) -> list[Trial]:
    """Every probability on every task."""
    return [trial for task in CHOSEN for p in PROBABILITIES for trial in scale.trials(task, p=p)]


def summarize(found: Sequence[Found]) -> Summary:
    """Test accuracy with 50 runs by p; the default p is marked."""
    preset = PRESETS[found[0].trial.preset if found else FULL.preset]
    runs = str(preset.r)
    curves = []
    for task in CHOSEN:
        points = tuple((p, _values(found, task, p, runs)) for p in PROBABILITIES)
        curves.append(Curve(TASKS[task], points, mark=preset.p_for(make(task, 0))))
    return [
        Figure(
            TITLE,
            "dropout probability p",
            tuple(curves),
            "Marked: the p of Table 1, by the mean number of nodes",
            steps=True,
        )
    ]


def _values(found: Sequence[Found], task: str, p: float, runs: str) -> tuple[float, ...]:
    chosen = (one.result["by_runs"][runs] for one in found if (one.trial.task, one.trial.p) == (task, p))
    return tuple(accuracy for tests in chosen for accuracy in tests)
