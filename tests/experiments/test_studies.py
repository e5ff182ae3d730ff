"""Studies: which trials they have, and what they make of results that are made up."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from dropgnn.errors import DropGNNError
from dropgnn.experiments import graph_classification
from dropgnn.experiments.archive import Archive, adopt, collect, load_archive, save_archive
from dropgnn.experiments.beyond_wl import METHODS, TASKS, TEST_RUNS, Result, Trial, run
from dropgnn.experiments.paper import TABLE1
from dropgnn.experiments.store import Store
from dropgnn.experiments.studies import FULL, QUICK, STUDIES, SYNTHETIC_STUDIES, table2, table3
from dropgnn.experiments.studies.samplers import TESTED, TRAINED
from dropgnn.experiments.summary import Cell, Figure, Found, Sheet


def made_up(trial: Trial) -> Found:
    """A result that depends on the seed alone, and on whether the learning rate decays."""
    accuracy = 0.5 + 0.01 * trial.seed + 0.25 * (trial.schedule == "cosine")
    exact = {"exhaustive-1": accuracy, "exhaustive-2": 1.0, "exhaustive-3": 0.9}
    by_runs = {str(runs): [accuracy] * 10 for runs in TEST_RUNS}
    return Found(trial, Result(train=1.0, test=accuracy, exact=exact, by_runs=by_runs, seconds=1.0), 2.0)


def made_up_fold(trial: graph_classification.Trial) -> Found:
    """Better on higher folds and, up to a point, after more epochs."""
    curve = [0.5 + 0.01 * trial.fold + 0.1 * (epoch == 2) for epoch in range(5)]
    test = 0.75 if trial.protocol == "nested" else None
    more = [value + 0.02 for value in curve]
    result = graph_classification.Result(
        curve=curve, more_runs=more, test=test, losses=[], trained=[], data=[], seconds=1.0
    )
    return Found(trial, result, 2.0)


def archive_of(study: str, *, share: float = 1.0) -> Archive:
    if study == "table2":
        listed = table2.trials(table2.Extent(contestants=tuple(table2.CONTESTANTS)))
        some = [made_up_fold(trial) for trial in listed[: round(share * len(listed))]]
        return Archive(study, study, tuple(some), len(listed), {"torch": "2"}, "dropgnn reproduce table2")
    if study == "table3":
        every = table3.trials(table3.Extent(limit=5_000, epochs=30))
        some = [Found(trial, {"test": 0.01 + 0.001 * trial.seed}, 60.0) for trial in every[: round(share * len(every))]]
        return Archive(study, study, tuple(some), len(every), {"torch": "2"}, "dropgnn reproduce table3")
    trials = SYNTHETIC_STUDIES[study](QUICK)
    found = tuple(map(made_up, trials[: round(share * len(trials))]))
    return Archive(study, study, found, len(trials), {"torch": "2"}, f"dropgnn reproduce {study} --quick")


def test_the_trials_of_the_paper() -> None:
    """Table 1 has all cells with ten seeds each; the figure of runs needs no training of its own."""
    table = SYNTHETIC_STUDIES["table1"](FULL)
    cells = Counter((trial.task, trial.method) for trial in table)
    assert set(cells.values()) == {10}
    assert {method for _, method in cells} == {*METHODS, "ports+dropout"}
    assert {trial.schedule for trial in table} == {"constant"}
    assert set(SYNTHETIC_STUDIES["figure-runs"](FULL)) < {*table, *SYNTHETIC_STUDIES["ours"](FULL)}
    assert len(SYNTHETIC_STUDIES["figure-p"](FULL)) == 3 * 9 * 10
    assert {trial.epochs for trial in table} == {1_000}


@pytest.mark.parametrize("name", SYNTHETIC_STUDIES)
def test_no_training_is_done_twice(name: str) -> None:
    trials = SYNTHETIC_STUDIES[name](FULL)
    assert len(trials) == len(set(trials))


@pytest.mark.parametrize("name", SYNTHETIC_STUDIES)
def test_every_finished_trial_has_its_place(name: str) -> None:
    """No cell and no point is empty when all is done, and each holds its seeds."""
    for part in STUDIES[name].summarize(archive_of(name).found):
        if isinstance(part, Sheet):
            assert {len(cell.values) for _, cells in part.rows for cell in cells} == {QUICK.seeds}
            assert all(len(cells) == len(part.columns) for _, cells in part.rows)
        else:
            assert isinstance(part, Figure)
            assert {len(values) for curve in part.curves for _, values in curve.points} == {10 * QUICK.seeds}


def test_cells_are_what_they_say() -> None:
    """The paper's dropout column is trained at a constant rate, ours decays, and exact columns have the exact test."""
    row = triangles("table1")
    assert row["+ dropout"].mean == pytest.approx(0.545)
    assert row["+ dropout"].paper == TABLE1["triangles"]["dropout"]["test"]
    assert row["+ dropout"].verdict == "below"
    row = triangles("ours")
    assert row["decay"].mean == pytest.approx(0.795)
    assert row["decay, exact k <= 2"].mean == 1.0
    assert row["decay, more"].mean == pytest.approx(0.795)
    assert row["decay, more, exact k <= 3"].mean == pytest.approx(0.9)
    assert len(row["decay, more"].values) == 10
    assert row["decay"].paper == TABLE1["triangles"]["dropout"]["test"]


def test_the_rivals_get_the_same_learning_rate() -> None:
    """Whoever says that dropouts are better must not compare them with rivals that train in a worse way."""
    rivals = [trial for trial in SYNTHETIC_STUDIES["ours"](FULL) if trial.method != "dropout"]
    assert {trial.schedule for trial in rivals} == {"cosine"}
    for number, part in enumerate(("test", "train"), start=1):
        row = triangles("ours", number)
        assert row.keys() == {"GIN", "+ ports", "+ IDs", "+ random feature"}
        assert row["+ ports"].paper == TABLE1["triangles"]["ports"][part]
        assert len(row["+ ports"].values) == 10


def triangles(study: str, table: int = 0) -> dict[str, Cell]:
    """The row of one of a study's tables, with made-up results."""
    sheet = STUDIES[study].summarize(list(map(made_up, SYNTHETIC_STUDIES[study](FULL))))[table]
    assert isinstance(sheet, Sheet)
    return dict(zip(sheet.columns, dict(sheet.rows)["Triangles"], strict=True))


def test_samplers_are_compared_at_equal_copies() -> None:
    trials = SYNTHETIC_STUDIES["samplers"](FULL)
    assert {trial.sampler for trial in trials} == set(TRAINED)
    assert {trial.runs for trial in trials if trial.task == "triangles"} == {61}
    sheet = STUDIES["samplers"].summarize(archive_of("samplers").found)[0]
    assert isinstance(sheet, Sheet)
    assert len(sheet.columns) == len(TRAINED) * len(TESTED)
    assert [name for name, _ in sheet.rows] == list(TASKS.values())


def test_a_study_goes_through_its_file(tmp_path: Path) -> None:
    archive = archive_of("table1", share=0.5)
    assert save_archive(tmp_path, archive)
    assert load_archive(tmp_path / "table1.json") == archive
    assert not save_archive(tmp_path, archive_of("table1", share=0.2))  # fewer trials never replace more
    assert load_archive(tmp_path / "table1.json") == archive
    (tmp_path / "table1.json").write_text('{"study": "table1"}')
    with pytest.raises(DropGNNError, match=r"table1.json is not a study's file .*dropgnn reproduce"):
        load_archive(tmp_path / "table1.json")
    (tmp_path / "table1.json").write_text('{"study": "table9", "trials": []}')
    with pytest.raises(DropGNNError, match=r"'study' must be one of .*got 'table9'"):
        load_archive(tmp_path / "table1.json")


def test_a_study_goes_on_from_its_file(tmp_path: Path) -> None:
    """And every trial keeps its commit; of files that do not say which, it is one of theirs."""
    made_by = {"dropgnn": "0.1", "commit": "a1, b2"}
    half = replace(archive_of("table1", share=0.5), made_by=made_by, experiment="beyond-wl")
    first, *others = half.found
    half = replace(half, found=(replace(first, commit="b2"), *others))
    trials = SYNTHETIC_STUDIES["table1"](QUICK)
    save_archive(tmp_path, half)
    store = Store(tmp_path / "runs", "beyond-wl")
    assert adopt(tmp_path, "table1", trials, store) == len(half.found)
    assert adopt(tmp_path, "table1", trials, store) == 0  # they are there
    assert collect("table1", "table1", trials, store, half.command) == half


@pytest.mark.parametrize("spoilt", ["another experiment", "results without accuracies"])
def test_what_cannot_be_gone_on_from_is_left_alone(spoilt: str, tmp_path: Path) -> None:
    half = replace(archive_of("table1", share=0.5), made_by={"dropgnn": "0.1"}, experiment="beyond-wl")
    if spoilt == "another experiment":
        half = replace(half, experiment="beyond-wl-2")
    else:
        half = replace(half, found=tuple(replace(one, result={}) for one in half.found))
    save_archive(tmp_path, half)
    assert adopt(tmp_path, "table1", SYNTHETIC_STUDIES["table1"](QUICK), Store(tmp_path / "runs", "beyond-wl")) == 0


def test_regularisation_alone_does_not_help() -> None:
    """Dropping in training only leaves two cycles of four and one of eight alike."""
    result = run(Trial("limits1", "dropout", 0, epochs=60, schedule="cosine", regularise=True))
    assert result["test"] == 0.5
    assert result["exact"] == result["by_runs"] == {}


@pytest.mark.parametrize(
    "settings",
    [{"mode": "edges"}, {"mode": "remove", "sampler": "stratified"}, {"aggregator": "transform-sum"}, {"aggr": "max"}],
)
def test_settings_train_and_are_tested_in_every_way(settings: dict[str, str]) -> None:
    result = run(Trial("limits1", "dropout", 0, epochs=3, **settings))  # type: ignore[arg-type]
    assert set(result["exact"]) == {"exhaustive-1", "exhaustive-2"}
    assert [len(tests) for tests in result["by_runs"].values()] == [10] * len(TEST_RUNS)
