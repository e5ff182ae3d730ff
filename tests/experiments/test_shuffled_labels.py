"""What cannot be learned: models memorise it, and protocols differ in what they make of it."""

from __future__ import annotations

from dataclasses import replace
from statistics import mean

import pytest
import torch
from torch_geometric.data import Data

from dropgnn.data.collection import Collection
from dropgnn.data.datasets import Dataset
from dropgnn.data.folds import stratified_folds
from dropgnn.data.synthetic import task
from dropgnn.experiments import graph_classification
from dropgnn.experiments.graph_classification import DROPS, ENCODERS, build, run
from dropgnn.training.minibatch import optimizer_of, share_right, train_step
from tests.conftest import generator
from tests.experiments.test_graph_classification import SMALL


def shuffled(seed: int) -> Dataset:
    """24 graphs with and without 4-cycles, whose labels are shuffled: there is nothing to learn, only to remember."""
    graphs = list(task("four_cycles", 0).graphs)[:24]
    for number, graph in enumerate(graphs):
        graph.edge_attr = None
        graph.x = torch.nn.functional.one_hot(torch.randint(3, (16,), generator=generator(number)), 3).float()
    y = (torch.arange(24) % 2)[torch.randperm(24, generator=generator(seed))]
    collection = replace(Collection.of(graphs), y=y)
    return Dataset("tiny", collection, 2, stratified_folds(y, seed=0), torch.full((24,), 3), ())


STEPS, LOOK_EVERY = 600, 20


def steps_to_memorise(method: str, drops: str, dataset: Dataset, *, seed: int = 0) -> int | None:
    """Training steps until a model in evaluation mode is right about all of eight graphs, each with features of its own and a
    label without a reason; none if it does not get there."""
    x = torch.randn(dataset.graphs.x.shape, generator=generator(2))
    graphs = replace(dataset.graphs, x=x).subset(range(8))
    few = Dataset("few", graphs, 2, (), dataset.largest_degrees, ())
    torch.manual_seed(seed)
    model = build(replace(SMALL, method=method, drops=drops, hidden=16, dropout=0.0), few)
    widen = graph_classification.augmentation(replace(SMALL, method=method))
    optimizer, _ = optimizer_of(model)
    everything, source = graphs.batch(range(8)), generator(3 + seed)
    for step in range(1, STEPS + 1):
        model.train()
        train_step(model, widen(everything, source), {"generator": source}, optimizer, auxiliary_share=0.3)
        if step % LOOK_EVERY == 0 and share_right(model, widen(everything, source), {"generator": source}) == 1.0:
            return step
    return None


@pytest.mark.parametrize("drops", DROPS)
@pytest.mark.parametrize("method", ENCODERS)
def test_every_model_can_memorise_a_tiny_set(method: str, drops: str) -> None:
    """Sooner or later: with each of the seeds 0 to 19 within 80 steps (of 600), so that rounding does not decide."""
    assert steps_to_memorise(method, drops, shuffled(1)) is not None


def test_who_cannot_see_does_not_memorise(monkeypatch: pytest.MonkeyPatch) -> None:
    """A control for the test above: a model that does not learn is not right by chance at any of its looks."""
    monkeypatch.setattr(f"{__name__}.train_step", lambda *_, **__: 0.0)
    assert steps_to_memorise("gin", "none", shuffled(1)) is None


def judged_on_shuffled_labels() -> tuple[float, float]:
    """Accuracy by the protocols gin and nested, with labels that cannot be learned."""
    gin, nested = (
        [run(replace(SMALL, drops="none", protocol=protocol, fold=fold, epochs=40)) for fold in range(10)]
        for protocol in ("gin", "nested")
    )
    selected = max(mean(column) for column in zip(*(result["curve"] for result in gin), strict=True))
    return selected, mean(result["test"] or 0.0 for result in nested)


@pytest.mark.parametrize("trained", [False, pytest.param(True, marks=pytest.mark.heavy)], ids=["guessing", "trained"])
def test_shuffled_labels_show_what_a_protocol_is_worth(trained: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be learned. Epochs selected on the test folds do visibly better than chance all the same.

    With models that guess, from streams of their own, and as a heavy test with models that train.
    """
    found = []
    for seed in (1, 2, 3):
        dataset, guesses = shuffled(seed), generator(seed)

        def guess(model: object, batch: Data, arguments: object, guesses: torch.Generator = guesses) -> float:
            return float((torch.randint(2, batch.y.shape, generator=guesses) == batch.y).float().mean())

        monkeypatch.setattr(graph_classification, "dataset_of", lambda name, dataset=dataset: dataset)
        if not trained:
            monkeypatch.setattr(graph_classification, "learn_epoch", lambda learners, *_, **__: [0.0] * len(learners))
            monkeypatch.setattr(graph_classification, "share_right", guess)
        found.append(judged_on_shuffled_labels())
    selected, honest = zip(*found, strict=True)
    assert mean(selected) >= 0.6
    assert 0.35 <= mean(honest) <= 0.65
    assert all(one > other for one, other in found)
