"""Graph classification: what a trial does, and what the protocols are worth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import mean

import pytest
import torch

from dropgnn.data.datasets import Dataset, load_dataset
from dropgnn.data.folds import split_off
from dropgnn.errors import InvalidArgument
from dropgnn.experiments import graph_classification
from dropgnn.experiments.graph_classification import (
    EXPERIMENT,
    Trial,
    belongs,
    build,
    run,
    run_together,
)
from dropgnn.experiments.store import Store
from dropgnn.nn import GIN, DropGNN
from dropgnn.runs.samplers import Bernoulli, Exhaustive
from dropgnn.training.batches import PlannedBatches
from dropgnn.training.minibatch import optimizer_of, random_batches

SMALL = Trial("MUTAG", "gin", "random", 0, hidden=8, epochs=2, batches=3, batch_size=8)


def test_the_same_seed_gives_the_same_numbers(small_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_classification, "WATCHED_EVERY", 1)
    for trial in (SMALL, replace(SMALL, drops="exact", protocol="nested")):
        one, other = (run(trial) for _ in range(2))
        one["seconds"] = other["seconds"]
        assert one == other
        assert run(replace(trial, seed=1))["losses"] != one["losses"]


def test_no_test_graph_ever_trains(small_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The graphs that reach the optimiser are those of the training part, and in protocol nested of its larger part."""
    seen: list[torch.Tensor] = []

    def spied(train: torch.Tensor, **arguments: object) -> object:
        for chosen in random_batches(train, **arguments):  # type: ignore[arg-type]
            seen.append(chosen)
            yield chosen

    monkeypatch.setattr(graph_classification, "random_batches", spied)
    dataset = load_dataset("MUTAG")
    for protocol in ("gin", "nested"):
        seen.clear()
        run(replace(SMALL, protocol=protocol, fold=3, batches=40))
        trained = torch.cat(seen).unique()
        assert not torch.isin(trained, dataset.folds[3].test).any()
        inner = split_off(dataset.folds[3].train, dataset.graphs.y, seed=0)
        assert torch.isin(trained, inner.train).all() == (protocol == "nested")
        assert trained.numel() > 0.6 * len(dataset.graphs)


def test_nested_tests_the_weights_of_the_best_epoch(small_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And no others, and once."""
    seen: list[dict[str, torch.Tensor]] = []
    rigged = iter([0.1, 0.9, 0.2, 0.3, 0.5])

    def spied(model: torch.nn.Module, *_: object) -> float:
        seen.append({name: value.clone() for name, value in model.state_dict().items()})
        return next(rigged)

    monkeypatch.setattr(graph_classification, "share_right", spied)
    result = run(replace(SMALL, drops="none", protocol="nested", epochs=4))
    assert (result["curve"], result["test"], len(seen)) == ([0.1, 0.9, 0.2, 0.3], 0.5, 5)
    assert all(torch.equal(value, seen[1][name]) for name, value in seen[4].items())
    assert not all(torch.equal(value, seen[3][name]) for name, value in seen[4].items())


def test_models_are_the_papers(small_data: Path) -> None:
    """p = 2/m and m runs, m the mean number of nodes, or all 1-dropouts; an input layer and 4 others; dropout at the end."""
    dataset = load_dataset("MUTAG")
    assert (round(dataset.graphs.mean_nodes), dataset.graphs.x.size(1)) == (18, 7)
    random, exact = (build(replace(SMALL, drops=drops), dataset) for drops in ("random", "exact"))
    assert repr(random.sampler) == repr(Bernoulli(2 / 18, 18))
    assert repr(exact.sampler) == repr(Exhaustive(2 / 18, k=1))
    for method, width in (("gin", 7 + 4 * 8), ("gcn", 8), ("sage", 8)):
        model = build(replace(SMALL, method=method, dropout=0.25), dataset)
        assert model.encoder.out_channels == width
        assert 0.25 in {module.p for module in model.head.modules() if isinstance(module, torch.nn.Dropout)}  # type: ignore[union-attr]


def test_the_learning_rate_is_halved_every_50_epochs() -> None:
    optimizer, scheduler = optimizer_of(DropGNN(GIN(1, 2, 1), Bernoulli(0.1, 2)))
    rates = []
    for _ in range(101):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    assert rates == [0.01] * 50 + [0.005] * 50 + [0.0025]


def test_kept_plans_change_nothing(small_data: Path) -> None:
    """Batches of exact dropouts, each cut out of one plan for the dataset, give what plans of their own give."""
    graphs = load_dataset("MUTAG").graphs
    torch.manual_seed(0)
    model = build(replace(SMALL, drops="exact", dropout=0.0), load_dataset("MUTAG")).double()
    double = replace(graphs, x=graphs.x.double())
    ((batch, arguments),) = PlannedBatches(model, double)([[5, 0, 5, 50]])
    assert list(arguments) == ["plan"]
    with torch.no_grad():
        kept, fresh = (model(batch.x, batch.edge_index, None, batch.batch, 4, **extra) for extra in (arguments, {}))
    torch.testing.assert_close(kept, fresh, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    "trial",
    [
        SMALL,
        replace(SMALL, drops="exact", protocol="nested", epochs=4),
        replace(SMALL, drops="none"),
        replace(SMALL, method="gin-random", protocol="nested"),
        replace(SMALL, method="gcn"),
        replace(SMALL, method="sage"),
        replace(SMALL, method="wl", drops="none", protocol="nested"),
    ],
    ids=lambda trial: f"{trial.method}-{trial.drops}-{trial.protocol}",
)
def test_together_or_alone(trial: Trial, small_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the bit the same, losses, dropout of features and all; and a model beside which another learns is not that other."""
    monkeypatch.setattr(graph_classification, "WATCHED_EVERY", 1)
    trials = [replace(trial, hidden=hidden, dropout=dropout) for hidden, dropout in ((8, 0.5), (4, 0.0), (8, 0.0))]
    together, alone = run_together(trials), list(map(run, trials))
    for result in (*together, *alone):
        result["seconds"] = 0.0
    assert together == alone
    if trial.method != "wl":
        assert len({tuple(result["losses"]) for result in alone}) == 3


def test_who_sees_something_else_learns_elsewhere(small_data: Path) -> None:
    with pytest.raises(InvalidArgument, match="'trials' must differ in hidden and dropout alone"):
        run_together([SMALL, replace(SMALL, batch_size=4)])


@pytest.mark.parametrize("method", ["gin", "gin-random"])
def test_watching_changes_nothing(method: str, small_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests with more runs and looks at the training part are made beside the training, and the result says what data it is
    about."""
    trial = replace(SMALL, method=method, epochs=3)
    watched = run(trial)
    assert len(watched["more_runs"]) == len(watched["curve"]) == 3
    assert any("fold" in note for note in watched["data"])
    monkeypatch.setattr(graph_classification, "_more_runs", lambda sampler: None)
    monkeypatch.setattr(graph_classification, "WATCHED_EVERY", 1)
    other = run(trial)
    assert other["curve"] == watched["curve"]
    monkeypatch.undo()
    monkeypatch.setattr(graph_classification, "WATCHED_EVERY", 1)
    assert run(trial)["more_runs"] == watched["more_runs"]
    assert (other["more_runs"], len(other["losses"]), len(other["trained"])) == ([], 3, 3)


def test_results_of_other_data_do_not_count(small_data: Path, tmp_path: Path) -> None:
    store, result = Store(tmp_path, EXPERIMENT, belongs), run(SMALL)
    store.put(SMALL, dict(result), seconds=1.0)
    assert store.get(SMALL) is not None
    spoilt = {**result, "data": [*result["data"][:-1], "content: 0123456789abcdef"]}
    store.put(SMALL, spoilt, seconds=1.0)
    assert store.get(SMALL) is None
    store.put(SMALL, {**result, "data": ["folds: stratified, seed 0"]}, seconds=1.0)
    assert store.get(SMALL) is None


def test_unknown_protocols_and_folds_are_refused(small_data: Path) -> None:
    with pytest.raises(InvalidArgument, match="'protocol' must be one of gin, nested"):
        run(replace(SMALL, protocol="Nested"))
    with pytest.raises(InvalidArgument, match="'fold' must be one of 10, counted from 0"):
        run(replace(SMALL, fold=-1))


def test_every_fold_has_weights_of_its_own(small_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But each time the same."""
    first: list[torch.Tensor] = []

    def spied(trial: Trial, dataset: Dataset) -> torch.nn.Module:
        model = build(trial, dataset)
        first.append(torch.cat([parameter.detach().flatten() for parameter in model.parameters()]))
        return model

    monkeypatch.setattr(graph_classification, "build", spied)
    for fold in (0, 1, 0):
        run(replace(SMALL, fold=fold, epochs=1, batches=1))
    assert torch.equal(first[0], first[2])
    assert not torch.equal(first[0], first[1])


def test_the_kernel_has_not_seen_what_it_is_tested_on(small_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other classes of the test graphs change no prediction: of two classes the other one is wrong where this one is right. And
    in protocol nested no choice, either."""
    dataset = load_dataset("MUTAG")
    y = dataset.graphs.y.clone()
    y[dataset.folds[0].test] = 1 - y[dataset.folds[0].test]
    flipped = replace(dataset, graphs=replace(dataset.graphs, y=y))
    results = []
    for known in (dataset, flipped):
        monkeypatch.setattr(graph_classification, "dataset_of", lambda name, known=known: known)
        results.append([run(replace(SMALL, method="wl", drops="none", protocol=one)) for one in ("gin", "nested")])
    (gin, nested), (other_gin, other_nested) = results
    assert other_gin["curve"] == pytest.approx([1 - share for share in gin["curve"]])
    assert len(set(gin["curve"])) > 1
    assert other_nested["curve"] == nested["curve"]
    assert other_nested["test"] == pytest.approx(1 - (nested["test"] or 0.0))


def test_the_kernel_sees_rings(small_data: Path) -> None:
    """Which is what the classes of the small dataset are: nearly all of its 60 graphs are right, where 30 are by chance."""
    found = [run(Trial("MUTAG", "wl", "none", fold, protocol="nested"))["test"] or 0.0 for fold in range(10)]
    assert mean(found) > 0.8


def test_the_kernel_beats_chance_on_mutag(data_root: Path) -> None:
    result = run(Trial("MUTAG", "wl", "none", 0, protocol="nested"))
    assert result["test"] is not None
    assert result["test"] > 0.7
