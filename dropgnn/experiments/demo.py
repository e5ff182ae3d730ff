"""A first look in two minutes: five methods on Limits 1 and 4-cycles over three seeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import mean, pstdev

from dropgnn.experiments.beyond_wl import METHODS, Result, Trial
from dropgnn.experiments.paper import TABLE1_TEST, Printed

EPOCHS = {"limits1": 200, "four_cycles": 120}
TITLES = {"limits1": "Limits 1", "four_cycles": "4-cycles"}
SEEDS = 3


def trials(seeds: int = SEEDS) -> list[Trial]:
    """All trainings of the demonstration, the longest first so that two processes end together.

    The learning rate decays, which the paper's does not: after so few epochs batch norm's running statistics would
    otherwise lag behind the weights.
    """
    listed = [
        Trial(task, method, seed, epochs, preset="published", schedule="cosine")
        for task, epochs in EPOCHS.items()
        for method in METHODS
        for seed in range(seeds)
    ]
    return sorted(listed, key=lambda trial: trial.method != "dropout" or trial.task != "four_cycles")


@dataclass(frozen=True)
class Cell:
    """Test accuracy of one method on one task: ours and the paper's."""

    mean: float
    deviation: float
    paper: Printed


def summarize(results: Mapping[Trial, Result]) -> dict[str, dict[str, Cell]]:
    """For every task and method the mean over seeds, with the paper's value beside it."""
    table: dict[str, dict[str, Cell]] = {}
    for task in EPOCHS:
        for method in METHODS:
            scores = [result.test for trial, result in results.items() if (trial.task, trial.method) == (task, method)]
            cell = Cell(mean(scores), pstdev(scores), TABLE1_TEST[task][method])
            table.setdefault(task, {})[method] = cell
    return table
