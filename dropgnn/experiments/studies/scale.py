"""How large a study is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dropgnn.experiments.beyond_wl import Trial


@dataclass(frozen=True)
class Scale:
    """Seeds and epochs of every training, and the settings they share; fewer seeds where many ways are compared."""

    seeds: int = 10
    few_seeds: int = 5
    epochs: int = 1_000
    preset: str = "published"
    schedule: str = "constant"

    def trials(self, task: str, method: str = "dropout", **settings: Any) -> list[Trial]:
        """One trial per seed."""
        first = Trial(task, method, 0, self.epochs, self.preset, self.schedule)
        return [replace(first, seed=seed, **settings) for seed in range(self.seeds)]


FULL = Scale()
"""The paper's."""

QUICK = Scale(seeds=2, few_seeds=2, epochs=100, schedule="cosine")
"""For a first look; the learning rate decays, or batch norm's statistics would lag behind after so few epochs."""
