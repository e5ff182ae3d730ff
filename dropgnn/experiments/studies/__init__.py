"""The paper's studies and ours beside them, one module each: which trials, and what they say together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from dropgnn.experiments import beyond_wl, graph_classification, property_regression
from dropgnn.experiments.studies import (
    aggregators,
    figure_p,
    figure_runs,
    modes,
    ours,
    samplers,
    table1,
    table2,
    table3,
)
from dropgnn.experiments.studies.scale import FULL, QUICK, Scale
from dropgnn.experiments.summary import Found, Summary
from dropgnn.registry import Registry

__all__ = ["FULL", "QUICK", "STUDIES", "SYNTHETIC_STUDIES", "Scale", "Study"]


@dataclass(frozen=True)
class Study:
    """A study: what its trials are, and its summary of those that are finished.

    Args:
        title: What to call it.
        experiment: The module with ``EXPERIMENT``, ``Trial``, ``Result`` and ``run``; it may say which results ``belongs`` to the
            data at hand, and how to train several trials ``TOGETHER``.
        summarize: From finished trials to tables and figures.
    """

    title: str
    experiment: ModuleType
    summarize: Callable[[Sequence[Found]], Summary]

    def trial(self, settings: dict[str, Any]) -> Any:
        """A trial from its settings, as files have them."""
        return self.experiment.Trial(**settings)


SYNTHETIC_STUDIES = Registry[Callable[[Scale], list[beyond_wl.Trial]]](
    "study",
    {
        "table1": table1.trials,
        "ours": ours.trials,
        "figure-runs": figure_runs.trials,
        "figure-p": figure_p.trials,
        "modes": modes.trials,
        "samplers": samplers.trials,
        "aggregators": aggregators.trials,
    },
)
"""Those on the synthetic tasks: their trials at some scale."""

STUDIES = Registry[Study](
    "study",
    {
        "table1": Study(table1.TITLE, beyond_wl, table1.summarize),
        "ours": Study(ours.TITLE, beyond_wl, ours.summarize),
        "figure-runs": Study(figure_runs.TITLE, beyond_wl, figure_runs.summarize),
        "figure-p": Study(figure_p.TITLE, beyond_wl, figure_p.summarize),
        "modes": Study(modes.TITLE, beyond_wl, modes.summarize),
        "samplers": Study(samplers.TITLE, beyond_wl, samplers.summarize),
        "aggregators": Study(aggregators.TITLE, beyond_wl, aggregators.summarize),
        "table2": Study(table2.TITLE, graph_classification, table2.summarize),
        "table3": Study(table3.TITLE, property_regression, table3.summarize),
    },
)
