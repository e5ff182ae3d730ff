"""Training on QM9, a step at a time: it can stop after any step, and goes on with the same numbers.

What is random in a step comes from the seed, the step's number and the rank, so nothing but weights and averages has to be
remembered. The paper's protocol: Adam, a learning rate that falls when validation stops to improve, the best epoch by validation.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import mse_loss
from torch.optim.lr_scheduler import ReduceLROnPlateau

from dropgnn.data.qm9.arrays import Arrays
from dropgnn.data.qm9.targets import TARGETS
from dropgnn.errors import DataProblem, InvalidArgument, real_number, whole_number
from dropgnn.interrupts import interrupts_deferred
from dropgnn.molecules.models import FEWEST, Settings, build
from dropgnn.tensor_files import load_tensors, save_tensors
from dropgnn.training.distributed import ALONE, Ranks
from dropgnn.training.loop import inputs
from dropgnn.training.presets import PRESETS
from dropgnn.training.seeds import repeatable, seeded_weights, stream

LEARNING_RATE, FACTOR, PATIENCE, FLOOR = 1e-3, 0.7, 5, 1e-5
SAVE_EVERY = 300.0
"""Seconds between checkpoints within an epoch; there is one after every epoch, too."""


class Split(NamedTuple):
    """Numbers of molecules: 80 percent to train on, 10 to validate, 10 to test."""

    train: Tensor
    validation: Tensor
    test: Tensor


def split_molecules(number: int, limit: int | None, *, seed: int) -> Split:
    """Draw the three parts; with a ``limit``, of so many molecules.

    >>> [part.numel() for part in split_molecules(1000, 100, seed=0)]
    [80, 10, 10]
    """
    if number < FEWEST:
        raise DataProblem(f"{number} molecules are too few to split; there must be at least {FEWEST}")
    if limit is not None and not FEWEST <= limit <= number:
        raise InvalidArgument("limit", f"must lie between {FEWEST} and the number of molecules, {number}", got=limit)
    order = torch.randperm(number, generator=stream(seed, "split"))[:limit]
    tenth = order.numel() // 10
    return Split(order[2 * tenth :], order[:tenth], order[tenth : 2 * tenth])


@dataclass
class Position:
    """How far a training is: the epoch, from 1, the steps done in it, and what is known so far.

    Args:
        loss: The sum of the losses of this epoch's steps.
        curve: For every finished epoch its mean loss and its validation error, the mean over targets in units of their
            deviation.
        best: The epoch with the lowest validation error, from 1.
    """

    epoch: int = 1
    step: int = 0
    loss: float = 0.0
    curve: tuple[tuple[float, float], ...] = ()
    best: int = 0


class Fit:
    """A model in training.

    Args:
        settings: What to train.
        arrays: All molecules.
        ranks: The processes that train together.
        checkpoint: A file to go on from, where it is there, and to keep up to date.
    """

    def __init__(
        self, settings: Settings, arrays: Arrays, *, ranks: Ranks = ALONE, checkpoint: Path | None = None
    ) -> None:
        self.settings, self.ranks, self.checkpoint = settings, ranks, checkpoint
        architecture = settings.architecture
        self.graphs = arrays.graphs(architecture.graphs, scaled=architecture.scaled, chemistry=settings.chemistry)
        self.split = split_molecules(len(arrays), settings.limit, seed=settings.seed)
        self.columns = [list(TARGETS).index(name) for name in settings.targets]
        known = torch.from_numpy(arrays.properties[self.split.train.numpy()][:, self.columns]).to(ranks.device)
        self.centre, self.deviation = known.mean(dim=0), known.std(dim=0, unbiased=False)
        if bool((self.deviation == 0).any()):
            raise DataProblem("a target is the same for all molecules to train on; take more of them")
        self.batch_size = settings.batch_size or architecture.batch_size
        if self.batch_size < ranks.world or self.steps == 0:
            raise InvalidArgument(
                "batch_size", f"must give each of the {ranks.world} ranks a molecule in every step", got=self.batch_size
            )
        self.m = round(float(arrays.atoms[self.split.train.numpy()].mean()))
        with seeded_weights(settings.seed):
            self.model = build(settings, self.m).to(ranks.device)
        self.best = self._weights()
        self.position = Position()
        self._earlier, self._began = 0.0, time.process_time()
        self._optimizer = torch.optim.Adam(self.model.parameters(), lr=LEARNING_RATE, fused=True)
        self._scheduler = ReduceLROnPlateau(self._optimizer, factor=FACTOR, patience=PATIENCE, min_lr=FLOOR)
        found = ranks.from_first(lambda: load_tensors(checkpoint) if checkpoint and checkpoint.exists() else None)
        if found is not None:
            self._restore(*found)

    def _weights(self) -> dict[str, Tensor]:
        return {name: value.clone() for name, value in self.model.state_dict().items()}

    @property
    def steps(self) -> int:
        """Steps in an epoch. A last batch too small to go round all ranks is left out."""
        whole, left = divmod(self.split.train.numel(), self.batch_size)
        return whole + (left >= self.ranks.world)

    @property
    def seconds(self) -> float:
        """Of processor time that this has taken, over all runs of it."""
        return self._earlier + time.process_time() - self._began

    @property
    def done(self) -> bool:
        return self.position.epoch > self.settings.epochs

    def run(self, on_step: Callable[[int], None] | None = None) -> None:
        """Train to the end; ``on_step`` is told how many steps are done, before the first and after each."""
        with repeatable(), self.ranks.together(self.model) as model:
            while not self.done:
                self._run_epoch(model, on_step)
        if on_step is not None:
            on_step(self.settings.epochs * self.steps)

    def _run_epoch(self, model: torch.nn.Module, on_step: Callable[[int], None] | None) -> None:
        """What is left of this epoch."""
        place, saved = self.position, time.monotonic()
        for chosen in self._batches():
            if on_step is not None:
                on_step((place.epoch - 1) * self.steps + place.step)
            with interrupts_deferred():  # half a step could not go on
                place.loss += self.take_step(model, chosen)
                place.step += 1
            if time.monotonic() - saved > SAVE_EVERY:
                self.save()
                saved = time.monotonic()
        error = self._validate()  # changes nothing, so Ctrl-C need not wait for it
        with interrupts_deferred():
            self._finish_epoch(error)
        self.save()

    def _batches(self) -> Iterator[Tensor]:
        """What is left of this epoch's batches."""
        order = torch.randperm(
            self.split.train.numel(), generator=stream(self.settings.seed, f"order of epoch {self.position.epoch}")
        )
        batches = self.split.train[order].split(self.batch_size)
        yield from batches[self.position.step : self.steps]

    def take_step(self, model: torch.nn.Module, chosen: Tensor) -> float:
        """One step on a batch, of which every rank has its share; returns the loss of the whole."""
        model.train()
        self._optimizer.zero_grad()
        batch = self.graphs.batch(self.ranks.share(chosen)).to(self.ranks.device)
        generator = self._stream(f"runs of epoch {self.position.epoch}, step {self.position.step}")
        outcome = model(*inputs(batch), generator=generator, return_outcome=True)
        target = (batch.y[:, self.columns] - self.centre) / self.deviation
        share = None if self.model.auxiliary is None else PRESETS[self.settings.preset].auxiliary_share
        loss = outcome.loss(target.to(outcome.prediction.dtype), mse_loss, auxiliary_share=share)
        loss = loss * self.ranks.scale(chosen)
        loss.backward()
        self._optimizer.step()
        return float(self.ranks.total(loss.detach())) / self.ranks.world

    def _validate(self) -> float:
        """The mean over targets of the validation error in units of their deviation; infinite where it is not a number."""
        error = float((self.errors("validation") / self.deviation.cpu()).mean())
        return error if math.isfinite(error) else math.inf

    def _finish_epoch(self, error: float) -> None:
        """Keep the weights if they are the best so far, and let the learning rate fall if they are not."""
        place = self.position
        if not place.curve or error < min(earlier for _, earlier in place.curve):
            place.best = place.epoch
            self.best = self._weights()
        self._scheduler.step(error)
        curve = (*place.curve, (place.loss / max(place.step, 1), error))
        self.position = Position(place.epoch + 1, curve=curve, best=place.best)

    @torch.no_grad()
    def errors(self, part: str) -> Tensor:
        """The mean absolute error of every target on a part of the split, in its unit; with the same runs every time."""
        self.model.eval()
        chosen, generator = getattr(self.split, part), self._stream(part)
        total = torch.zeros_like(self.centre)
        for some in self.ranks.share(chosen).split(self.batch_size):
            if some.numel():
                batch = self.graphs.batch(some).to(self.ranks.device)
                found = self.model(*inputs(batch), generator=generator).double() * self.deviation + self.centre
                total += (found - batch.y[:, self.columns]).abs().sum(dim=0)
        return (self.ranks.total(total) / chosen.numel()).cpu()

    @torch.no_grad()
    def spreads(self, part: str) -> tuple[Tensor, Tensor]:
        """The error of every molecule of a part, and how far single runs scatter, both ``[M, T]`` and in units of deviations.
        Every rank looks at all of them."""
        self.model.eval()
        generator, errors, spreads = stream(self.settings.seed, f"spread on {part}"), [], []
        for some in getattr(self.split, part).split(self.batch_size):
            batch = self.graphs.batch(some).to(self.ranks.device)
            outcome = self.model(*inputs(batch), generator=generator, return_outcome=True)
            target = (batch.y[:, self.columns] - self.centre) / self.deviation
            errors.append((outcome.prediction - target).abs().cpu())
            spreads.append(outcome.spread.cpu())
        return torch.cat(errors), torch.cat(spreads)

    def _stream(self, purpose: str) -> torch.Generator:
        """Randomness of one rank for one purpose."""
        return stream(self.settings.seed, f"{purpose}, rank {self.ranks.rank}")

    def save(self) -> None:
        """Keep everything that is needed to go on."""
        if self.checkpoint is None or not self.ranks.first:
            return
        tensors = {f"model.{name}": value for name, value in self.model.state_dict().items()}
        tensors |= {f"best.{name}": value for name, value in self.best.items()}
        for name, parameter in self.model.named_parameters():
            tensors |= {f"adam.{key}.{name}": value for key, value in self._optimizer.state[parameter].items()}
        facts = {
            "checkpoint": self._identity(),
            "position": asdict(self.position),
            "learning_rate": self._optimizer.param_groups[0]["lr"],
            "plateau": [self._scheduler.best, self._scheduler.num_bad_epochs],
            "seconds": self.seconds,
        }
        save_tensors(self.checkpoint, tensors, facts)

    def _identity(self) -> dict[str, Any]:
        """What must be the same for a training to go on."""
        return {"settings": _as_json(self.settings), "world": self.ranks.world, "molecules": len(self.graphs)}

    def _restore(self, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        if facts.get("checkpoint") != self._identity():
            raise DataProblem(
                f"{self.checkpoint} belongs to a training with other settings, molecules or ranks; remove it to begin anew, or "
                "choose another file"
            )

        def part(prefix: str) -> dict[str, Tensor]:
            kept = ((name, value.to(self.ranks.device)) for name, value in tensors.items())
            return {name.removeprefix(prefix): value for name, value in kept if name.startswith(prefix)}

        position, learning_rate, plateau, seconds = self._known(facts)
        self.model.load_state_dict(part("model."))
        self.best = part("best.")
        for name, parameter in self.model.named_parameters():
            for key in ("step", "exp_avg", "exp_avg_sq"):
                if (value := tensors.get(f"adam.{key}.{name}")) is not None:
                    self._optimizer.state[parameter][key] = value.to(parameter.device)
        self.position, self._earlier = position, seconds
        self._optimizer.param_groups[0]["lr"] = learning_rate
        self._scheduler.best, self._scheduler.num_bad_epochs = plateau

    def _known(self, facts: dict[str, Any]) -> tuple[Position, float, tuple[float, int], float]:
        """What a checkpoint says beside its tensors: position, learning rate, best error and epochs since, seconds."""
        try:
            given = facts["position"]
            whole = {name: whole_number(name, given[name], least=0) for name in ("epoch", "step", "best")}
            curve = tuple((float(loss), float(error)) for loss, error in given["curve"])
            position = Position(loss=float(given["loss"]), curve=curve, **whole)
            best, waited = facts["plateau"]
            plateau = float(best), whole_number("plateau", waited, least=0)
            learning_rate = real_number("learning_rate", facts["learning_rate"], least=0.0)
            return position, learning_rate, plateau, real_number("seconds", facts.get("seconds", 0.0), least=0.0)
        except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as problem:
            raise DataProblem(f"{self.checkpoint} is damaged ({problem}); remove it to begin anew") from problem


def _as_json(settings: Settings) -> dict[str, Any]:
    return asdict(settings) | {"targets": list(settings.targets)}
