"""A trained model: what it predicts, how well, and its file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dropgnn.data.qm9.arrays import Arrays
from dropgnn.data.qm9.molecules import Molecule
from dropgnn.data.qm9.targets import TARGETS
from dropgnn.errors import DataProblem, DropGNNError, InvalidArgument, whole_number
from dropgnn.molecules.fitting import Fit
from dropgnn.molecules.models import Settings, build
from dropgnn.nn.model import DropGNN
from dropgnn.training.loop import inputs
from dropgnn.training.seeds import stream
from dropgnn.training.tensor_files import load_tensors, save_tensors

FORMAT = 1
"""To be changed when the meaning of a model's file changes."""

LARGEST_M = 1_000
"""As many runs as a model's file may ask for."""

COLUMNS = ("centre", "deviation", "validation", "test")


class Prediction(NamedTuple):
    """A property of a molecule in its unit, and how far single runs scatter around their mean, where there are any."""

    value: float
    spread: float | None


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """A model with what is needed to use it.

    Args:
        settings: How it was trained.
        model: The weights of the best epoch.
        m: The mean number of atoms, by which its runs were chosen.
        centre, deviation: Mean and standard deviation of every target over the molecules it was trained on.
        validation, test: Mean absolute error of every target.
        best_epoch: By validation, from 1.
    """

    settings: Settings
    model: DropGNN
    m: int
    centre: tuple[float, ...]
    deviation: tuple[float, ...]
    validation: tuple[float, ...]
    test: tuple[float, ...]
    best_epoch: int

    def __post_init__(self) -> None:
        whole_number("best_epoch", self.best_epoch, least=1)
        for name in COLUMNS:
            values = getattr(self, name)
            if len(values) != len(self.settings.targets) or not all(map(math.isfinite, values)):
                raise InvalidArgument(name, "must have a number for every target", got=values)

    @classmethod
    def of(cls, fit: Fit) -> TrainedModel:
        """From a training that is done; only now are the test molecules looked at."""
        if not fit.done:
            raise DropGNNError(
                f"the training is not done: it is in epoch {fit.position.epoch} of {fit.settings.epochs}"
            )
        fit.model.load_state_dict(fit.best)
        return cls(
            fit.settings,
            fit.model,
            fit.m,
            centre=tuple(fit.centre.tolist()),
            deviation=tuple(fit.deviation.tolist()),
            validation=tuple(fit.errors("validation").tolist()),
            test=tuple(fit.errors("test").tolist()),
            best_epoch=fit.position.best,
        )

    def save(self, path: Path) -> None:
        facts = {name: getattr(self, name) for name in ("m", *COLUMNS, "best_epoch")}
        save_tensors(path, self.model.state_dict(), {"model": FORMAT, "settings": asdict(self.settings), **facts})

    @classmethod
    def load(cls, path: Path) -> TrainedModel:
        """Read a model's file; nothing in it is executed."""
        tensors, facts = load_tensors(path)
        if facts.pop("model", None) != FORMAT:
            raise DataProblem(f"{path} is not a model's file, or one of another version; train it with dropgnn train")
        try:
            given: dict[str, Any] = facts.pop("settings")
            settings = Settings(**(given | {"targets": tuple(given["targets"])}))
            if whole_number("m", facts["m"], least=2) > LARGEST_M:
                raise InvalidArgument("m", f"must be at most {LARGEST_M}", got=facts["m"])
            model = build(settings, facts["m"])
            model.load_state_dict(tensors)
            facts = {name: tuple(value) if isinstance(value, list) else value for name, value in facts.items()}
            return cls(settings, model, **facts)
        except (KeyError, TypeError, RuntimeError, InvalidArgument) as problem:
            raise DataProblem(f"{path} does not fit this version of dropgnn ({problem}); train it again") from problem

    @torch.no_grad()
    def predict(self, molecule: Molecule) -> dict[str, Prediction]:
        """The targets of one molecule. Random runs are always the same for a molecule, whatever else is predicted."""
        architecture = self.settings.architecture
        graphs = Arrays.of([molecule]).graphs(
            architecture.graphs, scaled=architecture.scaled, chemistry=self.settings.chemistry
        )
        self.model.eval()
        outcome = self.model(*inputs(graphs.batch([0])), generator=stream(0, "prediction"), return_outcome=True)
        deviation = torch.tensor(self.deviation, dtype=torch.float64)
        values = outcome.prediction[0].double() * deviation + torch.tensor(self.centre, dtype=torch.float64)
        if not bool(values.isfinite().all()):
            raise DataProblem("the model's prediction is no number")
        spread: Sequence[float | None] = [None] * len(self.deviation)
        if outcome.auxiliary is not None and outcome.weight is not None:
            spread = (_scatter(outcome.auxiliary.double(), outcome.weight) * deviation).tolist()
        return {
            name: Prediction(value, width)
            for name, value, width in zip(self.settings.targets, values.tolist(), spread, strict=True)
        }


def _scatter(x: Tensor, weight: Tensor) -> Tensor:
    """The weighted standard deviation of every column."""
    share = (weight / weight.sum()).to(x.dtype).unsqueeze(1)
    return (share * (x - (share * x).sum(dim=0)).square()).sum(dim=0).sqrt()


def with_unit(target: str, value: float) -> str:
    """
    >>> with_unit("gap", 0.01234567), with_unit("r2", 30.8341)
    ('0.0123 Hartree', '30.8 Bohr^2')
    """
    return f"{value:.3g} {TARGETS[target].unit}"
