"""The studies of Section 4.1 and ours beside them, one module each: which trials, and what they say together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dropgnn.experiments.beyond_wl import Trial
from dropgnn.experiments.studies import aggregators, figure_p, figure_runs, modes, samplers, table1
from dropgnn.experiments.studies.scale import FULL, QUICK, Scale
from dropgnn.experiments.summary import Found, Summary
from dropgnn.registry import Registry

__all__ = ["FULL", "QUICK", "STUDIES", "Scale", "Study"]


@dataclass(frozen=True)
class Study:
    """A study: its trials at some scale, and its summary of those that are finished."""

    title: str
    trials: Callable[[Scale], list[Trial]]
    summarize: Callable[[Sequence[Found]], Summary]


STUDIES = Registry[Study](
    "study",
    {
        "table1": Study(table1.TITLE, table1.trials, table1.summarize),
        "figure-runs": Study(figure_runs.TITLE, figure_runs.trials, figure_runs.summarize),
        "figure-p": Study(figure_p.TITLE, figure_p.trials, figure_p.summarize),
        "modes": Study(modes.TITLE, modes.trials, modes.summarize),
        "samplers": Study(samplers.TITLE, samplers.trials, samplers.summarize),
        "aggregators": Study(aggregators.TITLE, aggregators.trials, aggregators.summarize),
    },
)
