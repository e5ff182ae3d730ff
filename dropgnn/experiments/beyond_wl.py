"""Section 4.1: five methods on one GIN, trained on tasks that 1-WL cannot solve.

Every contestant is a ``DropGNN``; the four rivals are DropGNNs that never drop anything.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch_geometric.data import Data

from dropgnn.data.ports import with_ids, with_random_feature
from dropgnn.data.synthetic import task
from dropgnn.data.task import Task
from dropgnn.errors import InvalidArgument
from dropgnn.nn.gin import GIN, GINE
from dropgnn.nn.heads import LayerReadout, Pooled
from dropgnn.nn.model import DropGNN
from dropgnn.runs.samplers import Bernoulli, Exhaustive, Sampler
from dropgnn.training.loop import Augment, accuracy, fit, unchanged
from dropgnn.training.presets import PRESETS, Preset
from dropgnn.training.seeds import seeded_weights, stream

METHODS = {
    "gin": "GIN",
    "ports": "+ ports",
    "ids": "+ IDs",
    "random": "+ random feature",
    "dropout": "+ dropout",
}
"""The columns of Table 1, and what to call them."""

NEVER = Exhaustive(p=0.0, k=0)
"""The sampler of a GNN without dropouts: one run, nothing dropped."""


@dataclass(frozen=True)
class Trial:
    """One training: everything that decides its result."""

    task: str
    method: str
    seed: int
    epochs: int
    preset: str = "paper"
    schedule: str = "constant"


@dataclass(frozen=True)
class Result:
    """Accuracies in evaluation mode, and how long it took."""

    train: float
    test: float
    seconds: float


def run(trial: Trial, on_epoch: Callable[[int, float], None] | None = None) -> Result:
    """Train on one copy of the dataset, test on another."""
    if trial.method not in METHODS:
        raise InvalidArgument("method", f"must be one of {', '.join(METHODS)}", got=repr(trial.method))
    started = time.perf_counter()
    preset = PRESETS[trial.preset]
    train, test = (task(trial.task, trial.seed, split=split) for split in ("train", "test"))
    model = build(trial.method, train, preset, trial.seed)
    augment = _augmentation(trial.method, preset)
    batches = [_dataset(trial.method, part, trial.seed, split) for part, split in ((train, "train"), (test, "test"))]
    fit(
        model,
        batches[0],
        epochs=trial.epochs,
        generator=stream(trial.seed, "training"),
        augment=augment,
        schedule=trial.schedule,
        auxiliary_share=preset.auxiliary_share,
        on_epoch=on_epoch,
    )
    on_train, on_test = (
        accuracy(model, batch, generator=stream(trial.seed, "testing"), augment=augment) for batch in batches
    )
    return Result(on_train, on_test, time.perf_counter() - started)


def build(method: str, task: Task, preset: Preset, seed: int) -> DropGNN:
    """The paper's GIN for a task, as one of the methods."""
    features = task.num_features + (method in ("ids", "random"))
    drops = method == "dropout"
    sampler: Sampler = Bernoulli(preset.p(task.m), preset.r) if drops else NEVER
    with seeded_weights(seed):
        if method == "ports":
            encoder: GIN | GINE = GINE(features, task.hidden, task.layers, edge_dim=1)
        else:
            encoder = GIN(features, task.hidden, task.layers)
        head, auxiliary = _readout(task, encoder), _readout(task, encoder)
    return DropGNN(encoder, sampler, head=head, auxiliary=auxiliary if drops else None)


def _readout(task: Task, encoder: GIN | GINE) -> torch.nn.Module:
    readout = LayerReadout(encoder.channels, task.num_classes)
    return readout if task.level == "node" else Pooled(readout)


def _dataset(method: str, task: Task, seed: int, split: str) -> Data:
    """The batch a method sees: ports only where asked for, IDs drawn once per dataset."""
    batch = task.batch()
    if method == "ids":
        batch = with_ids(batch, stream(seed, f"ids of {split}"), together=task.counted_together)
    if method != "ports":
        batch.edge_attr = None
    return batch


def _augmentation(method: str, preset: Preset) -> Augment:
    return partial(with_random_feature, published=preset.published_features) if method == "random" else unchanged
