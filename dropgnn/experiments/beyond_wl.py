"""Section 4.1: one GIN, helped in several ways, trained on tasks that 1-WL cannot solve.

Every contestant is a ``DropGNN``; the rivals are DropGNNs that never drop anything. All studies of the synthetic tasks are
made of these trials, so what two studies have in common is trained once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import TypedDict

import torch
from torch_geometric.data import Data

from dropgnn.data.ports import with_ids, with_random_feature
from dropgnn.data.synthetic import task
from dropgnn.data.task import Task
from dropgnn.errors import InvalidArgument, one_of, yes_or_no
from dropgnn.model.dropgnn import DropGNN
from dropgnn.nn.gin import GIN, GINE
from dropgnn.nn.heads import LayerReadout, Pooled
from dropgnn.registry import Registry
from dropgnn.runs.samplers import Bernoulli, Exhaustive, Sampler, Stratified
from dropgnn.training.loop import Augment, accuracy, fit, unchanged
from dropgnn.training.presets import PRESETS, Preset
from dropgnn.training.seeds import seeded_weights, stream

EXPERIMENT = "beyond-wl"
"""Names the files of results; to be changed when a trial comes to mean something else, or old results pass for new ones."""

TASKS = {
    "limits1": "Limits 1",
    "limits2": "Limits 2",
    "four_cycles": "4-cycles",
    "lcc": "LCC",
    "triangles": "Triangles",
    "skip_circles": "Skip-circles",
}
"""The rows of Table 1, and what to call them."""

METHODS = {
    "gin": "GIN",
    "ports": "+ ports",
    "ids": "+ IDs",
    "random": "+ random feature",
    "dropout": "+ dropout",
}
"""The columns of Table 1, and what to call them."""

BOTH = "ports+dropout"
"""A column of ours: dropouts and port numbers together."""

SAMPLERS = Registry[Callable[[float, int], Sampler]](
    "sampler",
    {
        "bernoulli": Bernoulli,
        "stratified": Stratified,
        "exhaustive-1": lambda p, r: Exhaustive(p, k=1),
        "exhaustive-2": lambda p, r: Exhaustive(p, k=2),
    },
)
"""How dropped sets are chosen in training, given p and, for random ones, r."""

NEVER = Exhaustive(p=0.0, k=0)
"""The sampler of a GNN without dropouts: one run, nothing dropped."""

TEST_RUNS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50)
"""Numbers of runs every model with dropouts is tested with, whatever it was trained with."""

TESTS = 10
"""How often each of them is tested."""


ABOUT_DROPOUTS = ("p", "runs", "sampler", "mode", "aggregator", "regularise")


@dataclass(frozen=True)
class Trial:
    """One training: everything that decides its result.

    Args:
        task, method: A row and a column of Table 1, or ``"ports+dropout"``.
        seed: For data, weights, runs and everything else.
        epochs: Steps of training on the whole dataset.
        preset: How p and the auxiliary loss are chosen, as in the paper or as in its code.
        schedule: Of the learning rate.
        p: Another dropout probability than the preset's.
        runs: Another number of runs in training than the preset's.
        sampler: In training, a name in ``SAMPLERS``.
        mode: What dropping does.
        aggregator: Over runs.
        aggr: Over neighbours.
        regularise: Drop in training only, as ordinary dropout does.
    """

    task: str
    method: str
    seed: int
    epochs: int
    preset: str = "published"
    schedule: str = "constant"
    p: float | None = None
    runs: int | None = None
    sampler: str = "bernoulli"
    mode: str = "zero"
    aggregator: str = "mean"
    aggr: str = "sum"
    regularise: bool = False

    def __post_init__(self) -> None:
        one_of("method", self.method, (*METHODS, BOTH))
        yes_or_no("regularise", self.regularise)
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in ABOUT_DROPOUTS and value != field.default and not _drops(self.method):
                raise InvalidArgument(
                    field.name, f"has no effect with method {self.method!r}, which drops nothing", got=value
                )


class Result(TypedDict):
    """Accuracies in evaluation mode, and the seconds of processor time it all took.

    ``train`` and ``test`` are the paper's: with as many random runs as in its experiments. Models that drop in testing are
    tested in more ways: ``exact`` has test accuracies by the sampler's name, ``by_runs`` ten of them by the number of runs
    (not with ports, which no study asks about).
    """

    train: float
    test: float
    exact: dict[str, float]
    by_runs: dict[str, list[float]]
    seconds: float


def run(trial: Trial, on_epoch: Callable[[int, float], None] | None = None) -> Result:
    """Train on one copy of the dataset, test on another."""
    started = time.process_time()
    preset = PRESETS[trial.preset]
    train, test = (task(trial.task, trial.seed, split=split) for split in ("train", "test"))
    model = build(trial, train)
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
    drops = _drops(trial.method) and not trial.regularise
    model.eval_sampler = Bernoulli(_p(trial, train), preset.r) if drops else NEVER
    on_train, on_test = (
        accuracy(model, batch, generator=stream(trial.seed, "testing"), augment=augment) for batch in batches
    )
    exact, by_runs = _test(trial, model, batches[1], _p(trial, train)) if drops else ({}, {})
    seconds = time.process_time() - started
    return Result(train=on_train, test=on_test, exact=exact, by_runs=by_runs, seconds=seconds)


def build(trial: Trial, task: Task) -> DropGNN:
    """The paper's GIN for a task, helped as the trial says."""
    features = task.num_features + (trial.method in ("ids", "random"))
    preset, drops = PRESETS[trial.preset], _drops(trial.method)
    runs = preset.r if trial.runs is None else trial.runs
    with seeded_weights(trial.seed):
        if trial.method in ("ports", BOTH):
            encoder: GIN | GINE = GINE(features, task.hidden, task.layers, edge_dim=1, aggr=trial.aggr)
        else:
            encoder = GIN(features, task.hidden, task.layers, aggr=trial.aggr)
        head, auxiliary = _readout(task, encoder), _readout(task, encoder)
        return DropGNN(
            encoder,
            SAMPLERS[trial.sampler](_p(trial, task), runs) if drops else NEVER,
            mode=trial.mode,
            aggregator=trial.aggregator,
            head=head,
            auxiliary=auxiliary if drops and preset.auxiliary_share else None,
        )


def _drops(method: str) -> bool:
    return method in ("dropout", BOTH)


def _p(trial: Trial, task: Task) -> float:
    return PRESETS[trial.preset].p_for(task) if trial.p is None else trial.p


def _test(trial: Trial, model: DropGNN, batch: Data, p: float) -> tuple[dict[str, float], dict[str, list[float]]]:
    """Accuracy with exact runs, and with more and fewer random ones."""
    exact = {}
    for k in _exact_tests(trial):
        model.eval_sampler = Exhaustive(p, k=k)
        exact[f"exhaustive-{k}"] = accuracy(model, batch, generator=stream(trial.seed, "unused"))
    by_runs = {}
    for r in TEST_RUNS if trial.method == "dropout" else ():
        model.eval_sampler, generator = Bernoulli(p, r), stream(trial.seed, f"testing with {r} runs")
        by_runs[str(r)] = [accuracy(model, batch, generator=generator) for _ in range(TESTS)]
    return exact, by_runs


def _exact_tests(trial: Trial) -> tuple[int, ...]:
    """Largest numbers of dropped nodes. Three of 41 are fast where copies look alike and are averaged, which is the paper's
    setting; with ports, or where edges drop, they take long."""
    usual = (trial.method, trial.mode, trial.aggregator, trial.aggr) == ("dropout", "zero", "mean", "sum")
    return (1, 2, 3) if usual else (1, 2)


def _readout(task: Task, encoder: GIN | GINE) -> torch.nn.Module:
    readout = LayerReadout(encoder.channels, task.num_classes)
    return readout if task.level == "node" else Pooled(readout)


def _dataset(method: str, task: Task, seed: int, split: str) -> Data:
    """The batch a method sees: ports only where asked for, IDs drawn once per dataset."""
    batch = task.batch()
    if method == "ids":
        batch = with_ids(batch, stream(seed, f"ids of {split}"), together=task.counted_together)
    if method not in ("ports", BOTH):
        batch.edge_attr = None
    return batch


def _augmentation(method: str, preset: Preset) -> Augment:
    return partial(with_random_feature, published=preset.published_features) if method == "random" else unchanged
