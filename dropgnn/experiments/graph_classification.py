"""Section 4.3: graph classification on real data, fold by fold.

Two protocols. ``gin`` is the one of the GIN paper, which the DropGNN paper reports: test accuracy after every epoch, and then
the epoch whose mean over the folds is best, so epochs are selected on the test folds. ``nested`` splits a tenth off each
training part, takes the epoch that is best on it, and looks at the test fold once.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, TypedDict

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn import GCN, GraphSAGE

from dropgnn.data.datasets import Dataset, load_dataset
from dropgnn.data.folds import Fold, split_off
from dropgnn.data.ports import with_random_feature
from dropgnn.experiments.wl_kernel import accuracies
from dropgnn.nn.gin import GIN
from dropgnn.nn.heads import LayerReadout, Pooled
from dropgnn.nn.model import DropGNN
from dropgnn.registry import Registry
from dropgnn.training.batches import PlannedBatches
from dropgnn.training.loop import Augment, unchanged
from dropgnn.training.minibatch import count_right, optimizer_of, random_batches, train_epoch
from dropgnn.training.presets import DROPS, PRESETS
from dropgnn.training.seeds import seeded_weights, stream

EXPERIMENT = "graph-classification"
"""Names the files of results; to be changed when a trial comes to mean something else, or old results pass for new ones."""

LAYERS = 4
KERNEL = "wl"
"""The method that is no GNN."""

ENCODERS = Registry[Callable[[int, int], torch.nn.Module]](
    "method",
    {
        "gin": lambda features, hidden: GIN(features, hidden, LAYERS),
        "gin-random": lambda features, hidden: GIN(features + 1, hidden, LAYERS),
        "gcn": lambda features, hidden: GCN(features, hidden, LAYERS, norm="batch_norm", jk="cat", out_channels=hidden),
        "sage": lambda features, hidden: GraphSAGE(
            features, hidden, LAYERS, norm="batch_norm", jk="cat", out_channels=hidden
        ),
    },
)
"""GNNs for so many features and of such a width; ``gin-random`` sees a random feature beside the others."""

PROTOCOLS = ("gin", "nested")


@dataclass(frozen=True)
class Trial:
    """One training on one fold: everything that decides its result.

    Args:
        dataset: One of the paper's, by name.
        method: A name in ``ENCODERS``, or ``"wl"`` for the kernel.
        drops: A name in ``DROPS``.
        fold: From 0.
        protocol: ``"gin"`` or ``"nested"``.
        hidden: Width of every layer.
        dropout: Of features, behind the readout of each layer.
        batch_size: Graphs per step.
        epochs, batches: Epochs, and random batches in each.
        preset: How p, r and the auxiliary loss are chosen.
        seed: For weights, batches, runs and everything else.
    """

    dataset: str
    method: str
    drops: str
    fold: int
    protocol: str = "gin"
    hidden: int = 32
    dropout: float = 0.5
    batch_size: int = 32
    epochs: int = 350
    batches: int = 50
    preset: str = "paper"
    seed: int = 0


class Result(TypedDict):
    """``curve``: accuracy after every epoch on the graphs that it is selected by; ``test``: in protocol ``nested``, that on the
    test graphs after the best of these epochs."""

    curve: list[float]
    test: float | None
    seconds: float


@lru_cache(maxsize=8)
def dataset_of(name: str) -> Dataset:
    """A dataset, read once per process."""
    return load_dataset(name)


def run(trial: Trial, on_epoch: Callable[[int, float], None] | None = None) -> Result:
    """Train on one fold."""
    started = time.perf_counter()
    dataset = dataset_of(trial.dataset)
    outer = dataset.folds[trial.fold]
    nested = trial.protocol == "nested"
    fold = split_off(outer.train, dataset.graphs.y, seed=trial.seed) if nested else outer
    with seeded_weights(trial.seed):  # and whatever else draws from the global state: dropout of features
        if trial.method == KERNEL:
            curve, test = _run_kernel(dataset, fold, outer.test if nested else None)
        else:
            curve, test = _train(trial, dataset, fold, outer.test if nested else None, on_epoch)
    return Result(curve=curve, test=test, seconds=time.perf_counter() - started)


def _run_kernel(dataset: Dataset, fold: Fold, held_out: Tensor | None) -> tuple[list[float], float | None]:
    """Every choice of rounds and penalty takes the place of an epoch."""
    curve = accuracies(dataset, fold.train.numpy(), fold.test.numpy())
    if held_out is None:
        return curve, None
    return curve, accuracies(dataset, fold.train.numpy(), held_out.numpy())[best_epoch(curve)]


def _train(
    trial: Trial,
    dataset: Dataset,
    fold: Fold,
    held_out: Tensor | None,
    on_epoch: Callable[[int, float], None] | None,
) -> tuple[list[float], float | None]:
    preset, model = PRESETS[trial.preset], build(trial, dataset)
    augment = augmentation(trial)
    generator, choices = stream(trial.seed, f"runs of fold {trial.fold}"), stream(trial.seed, f"fold {trial.fold}")
    ready = _Ready(model, dataset, augment)
    optimizer, scheduler = optimizer_of(model)
    curve: list[float] = []
    kept: dict[str, Tensor] = {}
    for epoch in range(1, trial.epochs + 1):
        chosen = random_batches(fold.train, batches=trial.batches, size=trial.batch_size, generator=choices)
        loss = train_epoch(
            model,
            ready.batches(chosen, generator),
            optimizer,
            generator=generator,
            auxiliary_share=preset.auxiliary_share,
            augment=augment,
        )
        scheduler.step()
        curve.append(count_right(model, ready.to_test(fold.test, generator)))
        if held_out is not None and best_epoch(curve) == epoch - 1:
            kept = copy.deepcopy(model.state_dict())
        if on_epoch is not None:
            on_epoch(epoch, loss)
    if held_out is None:
        return curve, None
    model.load_state_dict(kept)
    return curve, count_right(model, ready.to_test(held_out, generator))


def augmentation(trial: Trial) -> Augment:
    """What is done to each batch before the model sees it."""
    if trial.method != "gin-random":
        return unchanged
    return partial(with_random_feature, published=PRESETS[trial.preset].published_features)


def best_epoch(curve: Sequence[float]) -> int:
    """The first of the best, from 0."""
    return max(range(len(curve)), key=lambda epoch: (curve[epoch], -epoch))


class _Ready:
    """Batches to train and to test on, with their plans where these can be made once."""

    def __init__(self, model: DropGNN, dataset: Dataset, augment: Augment) -> None:
        model.train()
        self.graphs, self.augment = dataset.graphs, augment
        self.planned = PlannedBatches(model, dataset.graphs, ahead=False) if augment is unchanged else None
        self._tested: dict[int, Any] = {}

    def batches(self, choices: Any, generator: torch.Generator) -> Any:
        if self.planned is not None:
            return self.planned(choices, generator=generator)
        return ((self.graphs.batch(chosen), {"generator": generator}) for chosen in choices)

    def to_test(self, chosen: Tensor, generator: torch.Generator) -> list[tuple[Data, dict[str, Any]]]:
        """All graphs to test on as one batch."""
        if id(chosen) not in self._tested:
            self._tested[id(chosen)] = list(self.batches([chosen], generator))
        return [(self.augment(batch, generator), arguments) for batch, arguments in self._tested[id(chosen)]]


def build(trial: Trial, dataset: Dataset) -> DropGNN:
    """The paper's GIN, or another GNN, with what is dropped."""
    graphs, preset = dataset.graphs, PRESETS[trial.preset]
    m = round(graphs.mean_nodes)
    encoder = ENCODERS[trial.method](graphs.x.size(1), trial.hidden)
    head, auxiliary = (_head(encoder, dataset.num_classes, trial.dropout) for _ in range(2))
    return DropGNN(
        encoder,
        DROPS[trial.drops](preset.p_real(m), m),
        head=head,
        auxiliary=None if trial.drops == "none" else auxiliary,
    )


def _head(encoder: torch.nn.Module, classes: int, dropout: float) -> torch.nn.Module:
    """GIN reads out every layer by itself; other GNNs put their layers together first."""
    if isinstance(encoder, GIN):
        return Pooled(LayerReadout(encoder.channels, classes, dropout=dropout))
    width = encoder.out_channels
    assert isinstance(width, int)
    return Pooled(torch.nn.Sequential(torch.nn.Linear(width, classes), torch.nn.Dropout(dropout)))
