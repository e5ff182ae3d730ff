"""Whole epochs of graph classification, 50 random batches of 32: plain GIN, DropGIN with random and with exact dropouts.

Making the batches counts, and so does drawing and planning; the plan of exact dropouts is made once for all epochs.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch import Tensor

from benchmarks.trainer import Plain
from dropgnn.data.datasets import load_dataset
from dropgnn.experiments.graph_classification import DROPS, Trial, build
from dropgnn.experiments.paper import DATASETS
from dropgnn.experiments.studies.table2 import Extent, trials
from dropgnn.training.loop import inputs
from dropgnn.training.minibatch import random_batches
from dropgnn.training.together import Learner, Views, learn_epoch

GOALS = {"PROTEINS": {"random": 7.0, "exact": 6.0}}
OTHERS = {"random": 4.0, "exact": 3.0}


def measure_epochs(name: str, data: Path | None, *, repeats: int, batches: int = 50) -> dict[str, Any]:
    """Seconds per epoch on one thread, the median over repeats, contestants alternating."""
    torch.set_num_threads(1)
    load_dataset(name, data=data)  # parsed, if it never was
    started = time.perf_counter()
    dataset = load_dataset(name, data=data)
    loaded = time.perf_counter() - started
    (trial,) = trials(Extent((name,), contestants=("GIN",), folds=1))
    epochs = {drops: _Epoch(trial, drops, dataset) for drops in DROPS}
    times: dict[str, list[float]] = {drops: [] for drops in DROPS}
    for repeat in range(repeats + 1):
        for drops, epoch in epochs.items():
            chosen = list(random_batches(dataset.folds[0].train, batches=batches, size=32, generator=_seeded(repeat)))
            started = time.perf_counter()
            epoch.run(chosen)
            if repeat:  # the first one warms up
                times[drops].append(time.perf_counter() - started)
    seconds = {drops: median(values) for drops, values in times.items()}
    goals = GOALS.get(name, OTHERS)
    return {
        "dataset": name,
        "second load, seconds": loaded,
        "seconds": seconds,
        "price": {drops: seconds[drops] / seconds["none"] for drops in goals},
        "goal": goals,
    }


class _Epoch:
    """Dropouts as Table 2 is trained, without them as anyone would write it."""

    def __init__(self, trial: Trial, drops: str, dataset: Any) -> None:
        self.graphs = dataset.graphs
        self.learner = Learner(partial(build, replace(trial, drops=drops), dataset), 0, "benchmark")
        self.views = None if drops == "none" else Views(self.learner.model, dataset.graphs)

    def run(self, chosen: Iterable[Tensor]) -> None:
        if self.views is not None:
            learn_epoch([self.learner], self.views.to_train(chosen, _seeded(0)), auxiliary_share=1 / 3)
            return
        model, optimizer = self.learner.model, self.learner.optimizer
        plain = Plain(model.encoder, model.head)
        for numbers in chosen:
            batch = self.graphs.batch(numbers)
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(plain(*inputs(batch)), batch.y).backward()
            optimizer.step()


def _seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def every_dataset(data: Path | None) -> tuple[str, ...]:
    return DATASETS if data is not None else ()
