"""Section 4.3: graph classification on real data, fold by fold.

Two protocols. ``gin`` is the one of the GIN paper, which the DropGNN paper reports: test accuracy after every epoch, and then
the epoch whose mean over the folds is best, so epochs are selected on the test folds. ``nested`` splits a tenth off each
training part, takes the epoch that is best on it, and looks at the test fold once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypedDict

import torch
from torch import Tensor
from torch_geometric.nn import GCN, GraphSAGE

from dropgnn.data.datasets import Dataset, load_dataset
from dropgnn.data.folds import Fold, split_off
from dropgnn.data.ports import with_random_feature
from dropgnn.errors import DataProblem, InvalidArgument
from dropgnn.experiments.runner import Together
from dropgnn.experiments.wl_kernel import CHOICES, kernel_accuracy
from dropgnn.model.dropgnn import DropGNN
from dropgnn.nn.gin import GIN
from dropgnn.nn.heads import LayerReadout, Pooled
from dropgnn.registry import Registry
from dropgnn.runs.samplers import Bernoulli, Sampler
from dropgnn.training.loop import Augment, unchanged
from dropgnn.training.minibatch import random_batches, share_right
from dropgnn.training.presets import DROPS, PRESETS
from dropgnn.training.seeds import stream
from dropgnn.training.together import Learner, Views, learn_epoch

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


class Protocol(NamedTuple):
    """How a training is judged.

    Args:
        note: What its figures are, in words.
        split: From a fold, the labels of all graphs and a seed to the fold that is trained and watched on, and the graphs that
            are looked at once in the end, if any.
    """

    note: str
    split: Callable[[Fold, Tensor, int], tuple[Fold, Tensor | None]]


PROTOCOLS = Registry[Protocol](
    "protocol",
    {
        "gin": Protocol("selected on test folds", lambda outer, y, seed: (outer, None)),
        "nested": Protocol(
            "selected on a tenth of each training part",
            lambda outer, y, seed: (split_off(outer.train, y, seed=seed), outer.test),
        ),
    },
)

MORE = 4
"""How many times the runs of training models with random runs are also tested with."""

WATCHED_EVERY = 50
"""Epochs between looks at the training part, which has nine times the graphs of the test part."""


@dataclass(frozen=True)
class Trial:
    """One training on one fold: everything that decides its result.

    Args:
        dataset: One of the paper's, by name.
        method: A name in ``ENCODERS``, or ``"wl"`` for the kernel.
        drops: A name in ``DROPS``.
        fold: From 0.
        protocol: A name in ``PROTOCOLS``.
        hidden: Width of every layer.
        dropout: Of features, behind the readout of each layer of GIN, in front of that of other GNNs.
        batch_size: Graphs per step.
        epochs, batches: Epochs, and random batches in each.
        pool: Over the nodes of a graph; the published code adds them up, GIN's takes the mean on social networks.
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
    pool: str = "sum"
    preset: str = "paper"
    seed: int = 0


class Result(TypedDict):
    """What a training leaves.

    Args:
        curve: Accuracy after every epoch on the graphs that it is selected by.
        more_runs: The same with ``MORE`` times the runs, where they are random.
        test: In protocol ``nested``, accuracy on the test graphs after the best of these epochs.
        losses, trained: Every ``WATCHED_EVERY`` epochs the loss, and the accuracy on the training part in evaluation mode.
        data: How the dataset and its folds were made.
        seconds: Of processor time, so that pauses and other work on the machine do not count; of models that were trained
            together an equal share.
    """

    curve: list[float]
    more_runs: list[float]
    test: float | None
    losses: list[float]
    trained: list[float]
    data: list[str]
    seconds: float


@lru_cache(maxsize=8)
def dataset_of(name: str) -> Dataset:
    """A dataset, read once per process."""
    return load_dataset(name)


def belongs(trial: Trial, result: Mapping[str, Any]) -> bool:
    """Whether a result is about the data that is here now: files of the same name may have other graphs or folds."""
    return result["data"] == list(dataset_of(trial.dataset).notes)


def seen_by(trial: Trial) -> Trial:
    """What decides the batches and runs it sees: everything but the model's width and its dropout of features."""
    return replace(trial, hidden=0, dropout=0.0)


def run(trial: Trial, on_epoch: Callable[[int, float], None] | None = None) -> Result:
    """Train on one fold."""
    return run_together([trial], on_epoch)[0]


def run_together(trials: Sequence[Trial], on_epoch: Callable[[int, float], None] | None = None) -> list[Result]:
    """Train models that see the same (:func:`seen_by`), such as those of a grid, on one fold: it is made once, and what comes out
    is what each comes to alone. ``on_epoch`` is told the loss of the first."""
    if not trials:
        return []
    started, first = time.process_time(), trials[0]
    if len(set(map(seen_by, trials))) > 1:
        raise InvalidArgument("trials", "must differ in hidden and dropout alone", got=trials)
    dataset = dataset_of(first.dataset)
    if not 0 <= first.fold < len(dataset.folds):
        raise InvalidArgument("fold", f"must be one of {len(dataset.folds)}, counted from 0", got=first.fold)
    fold, held_out = PROTOCOLS[first.protocol].split(dataset.folds[first.fold], dataset.graphs.y, first.seed)
    if not fold.train.numel() or not fold.test.numel():
        raise DataProblem(f"fold {first.fold} of {dataset.name} has nothing to train on, or nothing to test on")
    results = [
        Result(curve=[], more_runs=[], test=None, losses=[], trained=[], data=list(dataset.notes), seconds=0.0)
        for _ in trials
    ]
    if first.method == KERNEL:
        for result in results:
            _run_kernel(result, dataset, fold, held_out)
    else:
        _train(results, trials, dataset, fold, held_out, on_epoch)
    seconds = (time.process_time() - started) / len(trials)
    for result in results:
        result["seconds"] = seconds
    return results


TOGETHER = Together(seen_by, run_together)
"""How the models of a grid are trained."""


def _run_kernel(result: Result, dataset: Dataset, fold: Fold, held_out: Tensor | None) -> None:
    """Every choice of rounds and penalty takes the place of an epoch."""
    train, watched = (part.numpy() for part in fold)
    result["curve"] = [kernel_accuracy(dataset, train, watched, *choice) for choice in CHOICES]
    if held_out is not None:
        result["test"] = kernel_accuracy(dataset, train, held_out.numpy(), *CHOICES[best_epoch(result["curve"])])


def _train(
    results: Sequence[Result],
    trials: Sequence[Trial],
    dataset: Dataset,
    fold: Fold,
    held_out: Tensor | None,
    on_epoch: Callable[[int, float], None] | None,
) -> None:
    """Fill in the results, epoch by epoch."""
    first = trials[0]
    preset, purpose = PRESETS[first.preset], f"weights of fold {first.fold}"  # every fold has weights of its own
    learners = [Learner(partial(build, trial, dataset), trial.seed, purpose) for trial in trials]
    # Whatever is only watched draws from a stream of its own, and so changes nothing else.
    generator, choices, watching, looking_back = (
        stream(first.seed, f"{what}fold {first.fold}") for what in ("runs of ", "", "watching ", "looking back in ")
    )
    views = Views(learners[0].model, dataset.graphs, augmentation(first))
    more = _more_runs(learners[0].model.sampler)

    def right(part: Tensor, source: torch.Generator, sampler: Sampler | None = None) -> list[float]:
        """Everyone's share of right predictions on one view of a part."""
        seen = views.to_test(part, source, sampler)
        return [share_right(learner.model, *seen) for learner in learners]

    for epoch in range(1, first.epochs + 1):
        chosen = random_batches(fold.train, batches=first.batches, size=first.batch_size, generator=choices)
        losses = learn_epoch(learners, views.to_train(chosen, generator), auxiliary_share=preset.auxiliary_share)
        for result, accuracy in zip(results, right(fold.test, generator), strict=True):
            result["curve"].append(accuracy)
        if more is not None:
            for result, accuracy in zip(results, right(fold.test, watching, more), strict=True):
                result["more_runs"].append(accuracy)
        if epoch % WATCHED_EVERY == 0:
            for result, loss, accuracy in zip(results, losses, right(fold.train, looking_back), strict=True):
                result["losses"].append(loss)
                result["trained"].append(accuracy)
        if held_out is not None:
            for learner, result in zip(learners, results, strict=True):
                if best_epoch(result["curve"]) == epoch - 1:
                    learner.keep()
        if on_epoch is not None:
            on_epoch(epoch, losses[0])
    if held_out is not None:
        for learner in learners:
            learner.recall()
        for result, accuracy in zip(results, right(held_out, generator), strict=True):
            result["test"] = accuracy


def _more_runs(sampler: Sampler) -> Sampler | None:
    """The same dropouts more often, where they are random."""
    if isinstance(sampler, Bernoulli) and isinstance(sampler.r, int):
        return Bernoulli(sampler.p, MORE * sampler.r)
    return None


def augmentation(trial: Trial) -> Augment:
    """What is done to each batch before the model sees it."""
    if trial.method != "gin-random":
        return unchanged
    return partial(with_random_feature, published=PRESETS[trial.preset].published_features)


def best_epoch(curve: Sequence[float] | Sequence[Fraction]) -> int:
    """The first of the best, from 0."""
    return max(range(len(curve)), key=lambda epoch: (curve[epoch], -epoch))


def build(trial: Trial, dataset: Dataset) -> DropGNN:
    """The paper's GIN, or another GNN, with what is dropped."""
    graphs, preset = dataset.graphs, PRESETS[trial.preset]
    m = round(graphs.mean_nodes)
    encoder = ENCODERS[trial.method](graphs.x.size(1), trial.hidden)
    head, auxiliary = (_head(encoder, dataset.num_classes, trial) for _ in range(2))
    return DropGNN(
        encoder,
        DROPS[trial.drops](preset.p_real(m), m),
        head=head,
        auxiliary=auxiliary if trial.drops != "none" and preset.auxiliary_share else None,
    )


def _head(encoder: torch.nn.Module, classes: int, trial: Trial) -> torch.nn.Module:
    """GIN reads out every layer by itself; other GNNs put their layers together first."""
    if isinstance(encoder, GIN):
        return Pooled(LayerReadout(encoder.channels, classes, dropout=trial.dropout), pool=trial.pool)
    width = encoder.out_channels
    assert isinstance(width, int)
    readout = torch.nn.Sequential(torch.nn.Dropout(trial.dropout), torch.nn.Linear(width, classes))
    return Pooled(readout, pool=trial.pool)
