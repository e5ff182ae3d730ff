"""A trained model: what it predicts, how well, and its file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from scipy.stats import spearmanr
from torch import Tensor

from dropgnn.data.qm9.arrays import Arrays
from dropgnn.data.qm9.molecules import Molecule
from dropgnn.data.qm9.targets import TARGETS
from dropgnn.errors import DataProblem, DropGNNError, InvalidArgument, whole_number
from dropgnn.files import as_path
from dropgnn.model.dropgnn import DropGNN
from dropgnn.molecules.fitting import Fit
from dropgnn.molecules.models import Settings, build
from dropgnn.molecules.seen import Seen
from dropgnn.tensor_files import load_tensors, save_tensors
from dropgnn.training.loop import inputs
from dropgnn.training.seeds import stream

FORMAT = 1
"""To be changed when the meaning of a model's file changes."""

WEAK = 0.3
"""A rank correlation below which the spread says little about the error."""

LARGEST_M = 1_000
"""As many runs as a model's file may ask for."""

COLUMNS = ("centre", "deviation", "validation", "test")
SPREADS = ("spread_rank", "spread_factor")


class Prediction(NamedTuple):
    """A property of a molecule in its unit, and how far single runs scatter around their mean, where they predict, too."""

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
        spread_rank, spread_factor: What the spread over runs says about the error of a prediction, on the validation
            molecules: rank correlation, and how many times the spread the error is in the median. Empty without spreads.
        seen: Sizes and elements of the molecules it was trained on; files written before this was recorded have none.
    """

    settings: Settings
    model: DropGNN
    m: int
    centre: tuple[float, ...]
    deviation: tuple[float, ...]
    validation: tuple[float, ...]
    test: tuple[float, ...]
    best_epoch: int
    spread_rank: tuple[float, ...] = ()
    spread_factor: tuple[float, ...] = ()
    seen: Seen | None = None

    def __post_init__(self) -> None:
        whole_number("best_epoch", self.best_epoch, least=1)
        for name in (*COLUMNS, *SPREADS):
            values = getattr(self, name)
            if name in SPREADS and values == ():
                continue
            if len(values) != len(self.settings.targets) or not all(map(math.isfinite, values)):
                raise InvalidArgument(name, "must have a number for every target", got=values)
        if min(self.deviation) <= 0:
            raise InvalidArgument("deviation", "must be positive for every target", got=self.deviation)

    @classmethod
    def of(cls, fit: Fit) -> TrainedModel:
        """From a training that is done; only now are the test molecules looked at."""
        if not fit.done:
            raise DropGNNError(
                f"the training is not done: it is in epoch {fit.position.epoch} of {fit.settings.epochs}"
            )
        fit.model.load_state_dict(fit.best)
        rank, factor = ((), ()) if fit.model.auxiliary is None else _compared(*fit.spreads("validation"))
        return cls(
            fit.settings,
            fit.model,
            fit.m,
            centre=tuple(fit.centre.tolist()),
            deviation=tuple(fit.deviation.tolist()),
            validation=tuple(fit.errors("validation").tolist()),
            test=tuple(fit.errors("test").tolist()),
            best_epoch=fit.position.best,
            spread_rank=rank,
            spread_factor=factor,
            seen=Seen.of(fit.graphs.arrays, fit.split.train.numpy()),
        )

    def save(self, path: Path | str) -> None:
        path = as_path("path", path)
        facts = {name: getattr(self, name) for name in ("m", *COLUMNS, *SPREADS, "best_epoch")}
        if self.seen is not None:
            facts["seen"] = asdict(self.seen)
        save_tensors(path, self.model.state_dict(), {"model": FORMAT, "settings": asdict(self.settings), **facts})

    @classmethod
    def load(cls, path: Path | str) -> TrainedModel:
        """Read a model's file; nothing in it is executed."""
        path = as_path("path", path)
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
            seen = Seen.read(facts.pop("seen")) if "seen" in facts else None
            facts = {name: tuple(value) if isinstance(value, list) else value for name, value in facts.items()}
            return cls(settings, model, **facts, seen=seen)
        except (KeyError, TypeError, ValueError, AttributeError, RuntimeError, OverflowError) as problem:
            raise DataProblem(f"{path} does not fit this version of dropgnn ({problem}); train it again") from problem

    def guides(self) -> list[tuple[str, str]]:
        """For every target what its spread says, in words."""
        found = zip(self.settings.targets, self.spread_rank, self.spread_factor, strict=False)
        return [
            (
                name,
                f"on validation molecules the median ratio of error to spread is {factor:.2g}, and their rank correlation "
                f"{rank:.2f}" + (" (a weak guide)" if rank < WEAK else ""),
            )
            for name, rank, factor in found
        ]

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
        if outcome.spread is not None:
            spread = (outcome.spread[0] * deviation).tolist()
        return {
            name: Prediction(value, width)
            for name, value, width in zip(self.settings.targets, values.tolist(), spread, strict=True)
        }


def _compared(errors: Tensor, spreads: Tensor) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Rank correlation, and median of the quotient, of every column."""
    ranks = (
        [_finite(spearmanr(*pair).statistic) for pair in zip(errors.T, spreads.T, strict=True)]
        if len(errors) > 1
        else []
    )
    factors = (errors / spreads.clamp(min=torch.finfo(spreads.dtype).tiny)).median(dim=0).values
    return tuple(ranks) or (0.0,) * errors.size(1), tuple(map(_finite, factors.tolist()))


def _finite(value: float) -> float:
    return float(value) if math.isfinite(value) else 0.0


def with_unit(target: str, value: float) -> str:
    """
    >>> with_unit("gap", 0.01234567), with_unit("r2", 30.8341)
    ('0.0123 Hartree', '30.8 Bohr^2')
    """
    return f"{value:.3g} {TARGETS[target].unit}"
