"""Presets for p, r and the auxiliary loss: as the paper's text has them, as its published code does, and without that loss; and
what is dropped, given p and r."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from dropgnn.data.task import Task
from dropgnn.model.outcome import AUXILIARY_SHARE
from dropgnn.registry import Registry
from dropgnn.runs.samplers import Bernoulli, Exhaustive, Sampler


@dataclass(frozen=True)
class Preset:
    """One way to choose the numbers, given m, the mean number of nodes in the graphs of a dataset.

    Synthetic tasks take r runs with ``p(m(task))``, real graphs m runs with ``p_real(m)``.
    """

    p: Callable[[int], float]
    m: Callable[[Task], int]
    p_real: Callable[[int], float]
    r: int
    auxiliary_share: float
    """Of the loss; with 0 there is no auxiliary head either."""
    published_features: bool
    """Whether the random feature is drawn from 0.00 to 0.99 instead of a standard normal."""

    def p_for(self, task: Task) -> float:
        """The dropout probability on a synthetic task."""
        return self.p(self.m(task))


SYNTHETIC_RUNS = 50
PAPER = Preset(
    lambda m: 1.0 / m, lambda task: task.m, lambda m: 2.0 / m, SYNTHETIC_RUNS, AUXILIARY_SHARE, published_features=False
)

PRESETS = Registry[Preset](
    "preset",
    {
        "paper": PAPER,
        "published": Preset(
            lambda m: 2.0 / (1.0 + m),
            lambda task: task.nodes_per_graph,
            lambda m: 2.0 / (1.0 + m),
            SYNTHETIC_RUNS,
            1.0 / 4.0,
            published_features=True,
        ),
        "no-auxiliary": replace(PAPER, auxiliary_share=0.0),
    },
)

WITHOUT_DROPOUTS = "paper"
"""The preset that trainings without dropouts are recorded under. They are the same under each, so studies share them."""

DROPS = Registry[Callable[[float, int], Sampler]](
    "drops",
    {
        "none": lambda p, r: Exhaustive(0.0, k=0),
        "random": Bernoulli,
        "exact": lambda p, r: Exhaustive(p, k=1),
    },
)
"""What is dropped, given p and r."""
