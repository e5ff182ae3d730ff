"""Section 4.4: properties of the molecules of QM9, one model for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypedDict

from dropgnn.data.qm9.dataset import QM9
from dropgnn.errors import DataProblem
from dropgnn.experiments.store import Store
from dropgnn.molecules.fitting import Fit
from dropgnn.molecules.models import Settings
from dropgnn.molecules.trained import TrainedModel

EXPERIMENT = "property-regression"
"""Names the files of results; to be changed when a trial comes to mean something else, or old results pass for new ones."""


@dataclass(frozen=True)
class Trial:
    """One training: everything that decides its result; see :class:`~dropgnn.molecules.models.Settings`."""

    model: str
    drops: str
    target: str
    limit: int | None = None
    epochs: int = 300
    preset: str = "paper"
    seed: int = 0


class Result(TypedDict):
    """Mean absolute errors, in the unit of the target, at the epoch that is best in validation; ``curve``: after every epoch the
    loss, and the validation error in units of the target's deviation."""

    validation: float
    test: float
    best_epoch: int
    curve: list[list[float]]
    seconds: float


@lru_cache(maxsize=1)
def molecules() -> QM9:
    """The dataset, mapped once per process."""
    return QM9.load()


def run(
    trial: Trial, on_epoch: Callable[[int, float], None] | None = None, *, unfinished: Path | None = None
) -> Result:
    """Train, and test once. ``unfinished``: a folder in which trials that are killed leave how far they were, to go on."""
    settings = Settings(
        trial.model, trial.drops, (trial.target,), trial.limit, trial.epochs, preset=trial.preset, seed=trial.seed
    )
    checkpoint = None if unfinished is None else Store(unfinished, EXPERIMENT).unfinished(trial)
    try:
        fit = Fit(settings, molecules(), checkpoint=checkpoint)
    except DataProblem:
        if checkpoint is None or not checkpoint.exists():
            raise
        checkpoint.replace(checkpoint.with_suffix(".broken"))  # whatever it is, nothing to go on from
        fit = Fit(settings, molecules(), checkpoint=checkpoint)

    def tell(done: int) -> None:
        epoch, step = divmod(done, fit.steps)
        if on_epoch is not None and step == 0 and epoch > 0:
            on_epoch(epoch, fit.position.curve[-1][0])

    fit.run(tell)
    trained = TrainedModel.of(fit)
    return Result(
        validation=trained.validation[0],
        test=trained.test[0],
        best_epoch=trained.best_epoch,
        curve=[list(pair) for pair in fit.position.curve],
        seconds=fit.seconds,
    )
