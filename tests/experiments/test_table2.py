"""Graph classification: what a trial does, what the protocols make of results, and what they are worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean

import pytest
import torch

from dropgnn.data.collection import Collection
from dropgnn.data.datasets import Dataset, load_dataset
from dropgnn.data.folds import split_off, stratified_folds
from dropgnn.data.synthetic import task
from dropgnn.errors import InvalidArgument
from dropgnn.experiments import graph_classification
from dropgnn.experiments.graph_classification import (
    DROPS,
    ENCODERS,
    EXPERIMENT,
    Trial,
    belongs,
    best_epoch,
    build,
    run,
)
from dropgnn.experiments.paper import BEST, DATASETS, TABLE2
from dropgnn.experiments.store import Store
from dropgnn.experiments.studies import table2
from dropgnn.experiments.studies.table2 import CONTESTANTS, Extent, summarize, trials
from dropgnn.experiments.summary import Found, Sheet
from dropgnn.training.batches import PlannedBatches
from dropgnn.training.minibatch import count_right, optimizer_of, random_batches, train_epoch
from tests.conftest import generator
from tests.experiments.test_studies import made_up_fold

SMALL = Trial("MUTAG", "gin", "random", 0, hidden=8, epochs=2, batches=3, batch_size=8)


def folds_of_gin(curves: Sequence[Sequence[float]]) -> list[Found]:
    """Results of a plain GIN, fold by fold."""
    return [Found(replace(SMALL, fold=fold, drops="none"), {"curve": curve}, 1.0) for fold, curve in enumerate(curves)]


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Dataset:
    """24 graphs with and without 4-cycles, whose labels are shuffled: there is nothing to learn, only to remember."""
    graphs = list(task("four_cycles", 0).graphs)[:24]
    for graph in graphs:
        graph.edge_attr = None
        graph.x = torch.nn.functional.one_hot(torch.randint(3, (16,), generator=generator(len(graphs))), 3).float()
    collection = Collection.of(graphs)
    y = (torch.arange(24) % 2)[torch.randperm(24, generator=generator(1))]
    collection = replace(collection, y=y)
    dataset = Dataset("tiny", collection, 2, stratified_folds(y, seed=0), torch.full((24,), 3), ())
    monkeypatch.setattr(graph_classification, "dataset_of", lambda name: dataset)
    return dataset


@pytest.mark.parametrize("drops", DROPS)
@pytest.mark.parametrize("method", ENCODERS)
def test_every_model_can_memorise_a_tiny_set(method: str, drops: str, tiny: Dataset) -> None:
    """Each graph with features of its own, and labels without a reason: training accuracy 1."""
    x = torch.randn(tiny.graphs.x.shape, generator=generator(2))
    graphs = replace(tiny.graphs, x=x).subset(range(8))
    few = Dataset("few", graphs, 2, (), tiny.largest_degrees, ())
    torch.manual_seed(0)
    model = build(replace(SMALL, method=method, drops=drops, hidden=16, dropout=0.0), few)
    widen = graph_classification.augmentation(replace(SMALL, method=method))
    optimizer, _ = optimizer_of(model)
    everything, source = graphs.batch(range(8)), generator(3)
    for _ in range(120):
        train_epoch(
            model,
            [(everything, {"generator": source})],
            optimizer,
            generator=source,
            auxiliary_share=0.3,
            augment=widen,
        )
    assert count_right(model, [(widen(everything, source), {"generator": source})]) == 1.0


def test_shuffled_labels_show_what_a_protocol_is_worth(tiny: Dataset) -> None:
    """Nothing can be learned. Epochs selected on the test folds do visibly better than chance all the same."""
    folds = range(10)
    found = {
        protocol: [run(replace(SMALL, drops="none", protocol=protocol, fold=fold, epochs=40)) for fold in folds]
        for protocol in ("gin", "nested")
    }
    curves = [result["curve"] for result in found["gin"]]
    selected = max(mean(column) for column in zip(*curves, strict=True))
    honest = mean(result["test"] or 0.0 for result in found["nested"])
    assert selected >= 0.6
    assert 0.25 <= honest <= 0.65
    assert selected > honest


def test_the_same_seed_gives_the_same_numbers(data_root: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_classification, "WATCHED_EVERY", 1)
    for trial in (SMALL, replace(SMALL, drops="exact", protocol="nested")):
        one, other = (run(trial) for _ in range(2))
        one["seconds"] = other["seconds"]
        assert one == other
        assert run(replace(trial, seed=1))["losses"] != one["losses"]


def test_no_test_graph_ever_trains(data_root: object, monkeypatch: pytest.MonkeyPatch) -> None:
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
        assert trained.numel() > 100


def test_kept_plans_change_nothing(data_root: object) -> None:
    """Batches of exact dropouts, each cut out of one plan for the dataset, give what plans of their own give."""
    graphs = load_dataset("MUTAG").graphs
    torch.manual_seed(0)
    model = build(replace(SMALL, drops="exact", dropout=0.0), load_dataset("MUTAG")).double()
    double = replace(graphs, x=graphs.x.double())
    ((batch, arguments),) = PlannedBatches(model, double)([[5, 0, 5, 100]])
    assert list(arguments) == ["plan"]
    with torch.no_grad():
        kept, fresh = (model(batch.x, batch.edge_index, None, batch.batch, 4, **extra) for extra in (arguments, {}))
    torch.testing.assert_close(kept, fresh, rtol=1e-10, atol=1e-10)


def test_the_epoch_is_the_best_of_the_means() -> None:
    assert best_epoch([0.2, 0.9, 0.9, 0.1]) == 1
    found = [made_up_fold(trial) for trial in trials(Extent(contestants=tuple(CONTESTANTS)))]
    sheet = summarize(found)[0]
    assert isinstance(sheet, Sheet)
    rows = dict(sheet.rows)
    more, usual = rows["DropGIN, random, four times the runs in testing"], rows["DropGIN, random, O(rn), r about 20"]
    assert more[0].mean == pytest.approx(usual[0].mean + 2)
    gin = rows["GIN, O(n)"][0]
    assert gin.values == pytest.approx([60 + fold for fold in range(10)])
    assert str(gin.paper) == "89.4 ± 5.6"
    assert [str(cell.paper).endswith(BEST) for cell in rows["PPGN*, O(n^3)"]] == [True, True, True, False, True]
    assert str(rows["1-2-3 GNN, O(n^4)"][0].paper) == "86.1"
    assert len(rows) == len(CONTESTANTS) + 5
    assert all(len(reported.accuracies) == len(DATASETS) for reported in TABLE2.values())


def test_no_fold_has_a_say_in_how_it_is_read() -> None:
    """Two epochs, each good for one fold: selected on all folds one of them shines, chosen elsewhere both fail."""
    curves = [[1.0, 0.0], [0.0, 1.0]]
    found = folds_of_gin(curves)
    selected, elsewhere, _ = summarize(found)
    assert isinstance(selected, Sheet)
    assert isinstance(elsewhere, Sheet)
    assert dict(selected.rows)["GIN, O(n)"][0].values == (100.0, 0.0)
    assert dict(elsewhere.rows)["GIN"][0].values == (0.0, 0.0)
    assert dict(summarize(found[:1])[1].rows)["GIN"][0].values == ()  # type: ignore[union-attr]


@pytest.mark.parametrize("method", ["gin", "gin-random"])
def test_watching_changes_nothing(method: str, data_root: object, monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert (other["more_runs"], len(other["losses"]), len(other["trained"])) == ([], 3, 3)


def test_rounding_does_not_choose_the_epoch() -> None:
    """Equal means stay equal in a file that keeps six digits: the first epoch is the best in either case."""
    curves = [[17 / 18, 16 / 18], [15 / 18, 16 / 18], [16 / 19, 16 / 19]]
    for kept in (curves, [[round(value, 6) for value in curve] for curve in curves]):
        sheet = summarize(folds_of_gin(kept))[0]
        assert isinstance(sheet, Sheet)
        assert dict(sheet.rows)["GIN, O(n)"][0].values == pytest.approx(
            [100 * 17 / 18, 100 * 15 / 18, 100 * 16 / 19], abs=1e-3
        )


def test_results_of_other_data_do_not_count(data_root: object, tmp_path: Path) -> None:
    store, result = Store(tmp_path, EXPERIMENT, belongs), run(SMALL)
    store.put(SMALL, dict(result), seconds=1.0)
    assert store.get(SMALL) is not None
    spoilt = {**result, "data": [*result["data"][:-1], "content: 0123456789abcdef"]}
    store.put(SMALL, spoilt, seconds=1.0)
    assert store.get(SMALL) is None
    store.put(SMALL, {**result, "data": result["data"][:-1]}, seconds=1.0)  # as the first results were
    assert store.get(SMALL) is not None
    store.put(SMALL, {**result, "data": ["folds: stratified, seed 0"]}, seconds=1.0)
    assert store.get(SMALL) is None


def test_folds_of_our_own_are_said() -> None:
    result = {"curve": [0.5], "data": ["folds: stratified, seed 0"]}
    sheet = summarize([Found(replace(SMALL, drops="none"), result, 1.0)])[0]
    assert "MUTAG has folds: stratified, seed 0" in sheet.note


def test_unknown_protocols_and_folds_are_refused(data_root: object) -> None:
    with pytest.raises(InvalidArgument, match="'protocol' must be one of gin, nested"):
        run(replace(SMALL, protocol="Nested"))
    with pytest.raises(InvalidArgument, match="'fold' must be one of 10, counted from 0"):
        run(replace(SMALL, fold=-1))


def test_every_fold_has_weights_of_its_own(data_root: object, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_grid_is_decided_by_test_folds_or_by_validation() -> None:
    """Of two widths, one is better in the curve that decides; only protocol nested then looks elsewhere."""
    found = []
    for trial in trials(Extent(("MUTAG",), grid=True, contestants=("GIN",), folds=2)):
        good = (trial.hidden, trial.dropout, trial.batch_size) == (16, 0.5, 128)
        for protocol in ("gin", "nested"):
            result = {"curve": [0.9 if good else 0.8], "more_runs": [], "test": 0.5 if good else 1.0}
            found.append(Found(replace(trial, protocol=protocol), result, 1.0))
    assert len(found) == 2 * 2 * 8
    selected, elsewhere, unselected, honest = summarize(found)
    assert isinstance(selected, Sheet)
    assert isinstance(elsewhere, Sheet)
    assert isinstance(unselected, Sheet)
    assert isinstance(honest, Sheet)
    assert dict(elsewhere.rows)["GIN"][0].values == pytest.approx([90.0, 90.0])
    assert dict(selected.rows)["GIN, O(n)"][0].values == pytest.approx([90.0, 90.0])
    assert dict(unselected.rows)["GIN"][0].values == pytest.approx([100 * (0.9 + 7 * 0.8) / 8] * 2)
    assert dict(honest.rows)["GIN"][0].values == pytest.approx([50.0, 50.0])


def test_nothing_is_selected_from_the_last_epochs() -> None:
    """Fold by fold their mean, whatever the others say; the kernel, whose choices are all there is, has no such row."""
    curves = [[1.0] * 300 + [0.5] * 50, [0.0] * 300 + [0.6, 0.8] * 25]
    trained = folds_of_gin(curves)
    kernel = Found(replace(SMALL, method="wl", drops="none"), {"curve": [0.9]}, 1.0)
    *_, unselected = summarize([*reversed(trained), kernel])
    assert isinstance(unselected, Sheet)
    assert dict(unselected.rows)["GIN"][0].values == pytest.approx([50.0, 70.0])
    assert not any("kernel" in name for name, _ in unselected.rows)


def test_the_paper_decides_widths() -> None:
    widths = {trial.dataset: trial.hidden for trial in trials(Extent())}
    assert widths == {"MUTAG": 32, "PTC": 32, "PROTEINS": 32, "IMDB-B": 64, "IMDB-M": 64}
    assert len(trials(Extent(grid=True, datasets=("MUTAG",), contestants=("GIN",)))) == 80
    assert [CONTESTANTS[name][:2] for name in table2.MAIN] == [
        ("wl", "none"), ("gin", "none"), ("gin", "random"), ("gin", "random"), ("gin", "exact"),
    ]  # fmt: skip


def test_the_kernel_beats_chance_on_mutag(data_root: object) -> None:
    result = run(Trial("MUTAG", "wl", "none", 0, protocol="nested"))
    assert result["test"] is not None
    assert result["test"] > 0.7
