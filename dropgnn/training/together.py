"""Models that learn together: what they see, batches, runs and plans, is made once for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from dropgnn.data.collection import Collection
from dropgnn.model.dropgnn import DropGNN
from dropgnn.runs.samplers import Sampler
from dropgnn.training.ahead import drawing
from dropgnn.training.batches import PlannedBatches
from dropgnn.training.loop import Augment, unchanged
from dropgnn.training.minibatch import optimizer_of, train_step
from dropgnn.training.seeds import seeded_weights

Seen = tuple[Data, dict[str, Any]]
"""A batch and the arguments with which a model takes the runs that were drawn for it."""


class Learner:
    """A model in training. What it draws from the CPU's global state, weights and dropout of features, comes from a seed of its
    own, so that it learns the same whoever learns beside it.

    Args:
        build: Makes the model.
        seed, purpose: As for :func:`~dropgnn.training.seeds.seeded_weights`.
    """

    def __init__(self, build: Callable[[], DropGNN], seed: int, purpose: str) -> None:
        with seeded_weights(seed, purpose):
            self.model = build()
            self._state = torch.get_rng_state()
        self.optimizer, self.scheduler = optimizer_of(self.model)
        self._kept: dict[str, Tensor] = {}

    @contextmanager
    def _own_randomness(self) -> Iterator[None]:
        with torch.random.fork_rng(devices=[]):
            torch.set_rng_state(self._state)
            yield
            self._state = torch.get_rng_state()

    def step(self, seen: Seen, *, auxiliary_share: float) -> float:
        """One step, and the loss before it."""
        with self._own_randomness():
            return train_step(self.model, *seen, self.optimizer, auxiliary_share=auxiliary_share)

    def keep(self) -> None:
        """Remember the weights."""
        self._kept = {name: value.clone() for name, value in self.model.state_dict().items()}

    def recall(self) -> None:
        """Take the weights that were kept last."""
        self.model.load_state_dict(self._kept)


def learn_epoch(learners: Sequence[Learner], batches: Iterable[Seen], *, auxiliary_share: float) -> list[float]:
    """Everyone takes one step per batch, and the learning rates one for all; returns everyone's mean loss."""
    for learner in learners:
        learner.model.train()
    losses = [[learner.step(seen, auxiliary_share=auxiliary_share) for learner in learners] for seen in batches]
    for learner in learners:
        learner.scheduler.step()
    return [sum(row[place] for row in losses) / max(len(losses), 1) for place in range(len(learners))]


class Views:
    """What models see of a dataset: batches with their runs, planned; once for all where they are not random.

    Args:
        model: One of those that will see them; they have the same layers, mode, sampler and engine.
        graphs: The dataset.
        augment: What is done to a batch before any model sees it.
    """

    def __init__(self, model: DropGNN, graphs: Collection, augment: Augment = unchanged) -> None:
        self.model, self.graphs, self.augment = model.train(), graphs, augment
        self._planned = PlannedBatches(model, graphs, ahead=False) if augment is unchanged else None
        self._sampler = model.current_sampler
        self._whole: dict[Tensor, Data] = {}
        self._fixed: dict[Tensor, Seen] = {}

    def to_train(self, choices: Iterable[Tensor], generator: torch.Generator) -> Iterator[Seen]:
        """A batch for every choice of graphs."""
        self.model.train()
        if self._planned is not None:
            return self._planned(choices, generator=generator)
        draw = drawing(self.model, generator=generator)
        return (draw(self.augment(self.graphs.batch(chosen), generator)) for chosen in choices)

    def to_test(self, part: Tensor, generator: torch.Generator, sampler: Sampler | None = None) -> Seen:
        """All graphs of a part as one batch, drawn with another sampler than the models' if one is given."""
        self.model.eval()
        planned = self._planned if self.model.current_sampler is self._sampler else None
        if sampler is None and planned is not None and not planned.sampler.random:
            if part not in self._fixed:  # as the very tensor it is
                (self._fixed[part],) = planned([part])
            return self._fixed[part]
        if part not in self._whole:
            self._whole[part] = self.graphs.batch(part)
        return drawing(self.model, sampler=sampler, generator=generator)(self.augment(self._whole[part], generator))
