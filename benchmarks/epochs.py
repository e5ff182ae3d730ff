"""Whole epochs of graph classification, 50 random batches of 32: plain GIN, DropGIN with random and with exact dropouts.

Making the batches counts, and so does drawing and planning; the plan of exact dropouts is made once for all epochs.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
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
from dropgnn.nn import DropGNN
from dropgnn.training.batches import PlannedBatches
from dropgnn.training.loop import inputs
from dropgnn.training.minibatch import optimizer_of, random_batches, train_step
from dropgnn.training.seeds import seeded_weights

GOALS = {"PROTEINS": {"random": 7.0, "exact": 6.0}}
OTHERS = {"random": 4.0, "exact": 3.0}


def measure_epochs(name: str, data: Path | None, *, repeats: int, batches: int = 50) -> dict[str, Any]:
    """Seconds per epoch on one thread, the median over repeats, contestants alternating."""
    torch.set_num_threads(1)
    dataset = load_dataset(name, data=data)
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
        "seconds": seconds,
        "price": {drops: seconds[drops] / seconds["none"] for drops in goals},
        "goal": goals,
    }


class _Epoch:
    def __init__(self, trial: Trial, drops: str, dataset: Any) -> None:
        self.dataset = dataset
        with seeded_weights(0):
            self.model = build(Trial(**{**vars(trial), "drops": drops}), dataset)
        self.optimizer, _ = optimizer_of(self.model)
        self.planned = None if drops == "none" else PlannedBatches(self.model, dataset.graphs, ahead=False)

    def run(self, chosen: Iterable[Tensor]) -> None:
        if self.planned is not None:
            self.model.train()
            for batch, arguments in self.planned(chosen, generator=_seeded(0)):
                train_step(self.model, batch, arguments, self.optimizer, auxiliary_share=1 / 3)
            return
        assert isinstance(self.model, DropGNN)
        plain = Plain(self.model.encoder, self.model.head)  # type: ignore[arg-type]
        for numbers in chosen:
            batch = self.dataset.graphs.batch(numbers)
            self.optimizer.zero_grad()
            torch.nn.functional.cross_entropy(plain(*inputs(batch)), batch.y).backward()
            self.optimizer.step()


def _seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def every_dataset(data: Path | None) -> tuple[str, ...]:
    return DATASETS if data is not None else ()
