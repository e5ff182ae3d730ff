"""Which dropped sets to train on and which to test on: random, stratified or exact ones (ours)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import mean

from dropgnn.data.synthetic import task as make
from dropgnn.experiments.beyond_wl import TASKS, Trial
from dropgnn.experiments.studies.scale import FULL, Scale
from dropgnn.experiments.summary import Cell, Found, Sheet, Summary

TITLE = "Samplers"
TRAINED = {"bernoulli": "random", "stratified": "stratified", "exhaustive-1": "exact"}
TESTED = {"random": "50 random", "exhaustive-1": "exact, k = 1", "exhaustive-2": "exact, k <= 2"}
NOTE = (
    "Trained with as many copies of each graph as there are dropouts of up to one node, at a decaying learning rate. "
    "Named by what is trained on and, behind the colon, what is tested on"
)

SECONDS_PER_EPOCH = {
    ("limits1", "exhaustive-1"): 0.85,
    ("limits2", "exhaustive-1"): 0.70,
    ("four_cycles", "exhaustive-1"): 0.54,
    ("lcc", "exhaustive-1"): 1.00,
    ("triangles", "exhaustive-1"): 0.71,
    ("skip_circles", "exhaustive-1"): 0.39,
}
"""Of training with a sampler, over that with random runs (``python -m benchmarks.samplers``); stratified runs take 0.94 to
1.16 times as long, which is the noise of the measurement, and count as equal."""


def trials(scale: Scale) -> list[Trial]:
    """At equal numbers of copies, and again with as many epochs as take the seconds of random runs."""
    return [
        trial
        for task in TASKS
        for sampler in TRAINED
        for epochs in dict.fromkeys((scale.epochs, _epochs(scale.epochs, task, sampler)))
        for trial in trainings(replace(scale, epochs=epochs), task, sampler)
    ]


def trainings(scale: Scale, task: str, sampler: str) -> list[Trial]:
    """Training with a sampler on as many copies as exhaustive dropouts have, at a decaying learning rate."""
    return replace(scale, schedule="cosine").trials(task, sampler=sampler, runs=_copies(task))


def summarize(found: Sequence[Found]) -> Summary:
    """Test accuracy for every pair of samplers, after equal epochs and after equal seconds."""
    epochs = min((one.trial.epochs for one in found if one.trial.sampler == "bernoulli"), default=0)
    columns = tuple(f"{trained}: {tested}" for trained in TRAINED.values() for tested in TESTED.values())
    sheets = []
    for name, equal_seconds in (("equal numbers of copies and epochs", False), ("equal training seconds", True)):
        rows = []
        for task, title in TASKS.items():
            cells = []
            for sampler in TRAINED:
                wanted = _epochs(epochs, task, sampler) if equal_seconds else epochs
                chosen = [one for one in found if _key(one.trial) == (task, sampler, wanted)]
                cells += [Cell(tuple(_accuracy(one, test) for one in chosen), full=FULL.seeds) for test in TESTED]
            rows.append((title, tuple(cells)))
        sheets.append(Sheet(f"{TITLE} at {name}, test accuracy", columns, tuple(rows), NOTE))
    return sheets


def _copies(task: str) -> int:
    return 1 + make(task, 0).graphs[0].num_nodes


def _epochs(epochs: int, task: str, sampler: str) -> int:
    return round(epochs / SECONDS_PER_EPOCH.get((task, sampler), 1.0))


def _key(trial: Trial) -> tuple[str, str, int]:
    return trial.task, trial.sampler, trial.epochs


def _accuracy(one: Found, test: str) -> float:
    return mean(one.result["by_runs"]["50"]) if test == "random" else one.result["exact"][test]
