"""Table 2: what is trained for it, and how it is read off the trainings."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from dropgnn.experiments.graph_classification import best_epoch
from dropgnn.experiments.paper import BEST, TABLE2
from dropgnn.experiments.paper import DATASETS as COLUMNS
from dropgnn.experiments.studies import table2
from dropgnn.experiments.studies.table2 import CONTESTANTS, DATASETS, Extent, summarize, trials
from dropgnn.experiments.summary import Figure, Found, Sheet
from tests.experiments.test_graph_classification import SMALL
from tests.experiments.test_studies import made_up_fold


def folds_of_gin(curves: Sequence[Sequence[float]]) -> list[Found]:
    """Results of a plain GIN, fold by fold."""
    return [Found(replace(SMALL, fold=fold, drops="none"), {"curve": curve}, 1.0) for fold, curve in enumerate(curves)]


def test_trainings_are_as_long_as_the_papers() -> None:
    """350 epochs of 50 batches of 32 on ten folds, with the paper's datasets and one choice of hyper-parameters."""
    everything = trials(Extent())
    assert {(one.epochs, one.batches, one.batch_size, one.dropout) for one in everything} == {(350, 50, 32, 0.5)}
    assert len(everything) == 6 * 4 * 10  # kernel, GIN, random and exact dropouts


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
    assert [str(cell.paper).endswith(BEST) for cell in rows["PPGN*, O(n^3)"]] == [True, True, True, True, False, True]
    assert str(rows["1-2-3 GNN, O(n^4)"][0].paper) == "86.1"
    assert len(rows) == len(CONTESTANTS) + 5
    assert all(len(reported.accuracies) == len(COLUMNS) for reported in TABLE2.values())


def test_a_table_has_the_datasets_that_were_trained_on() -> None:
    """And of the paper's rows those that have something to say about them."""
    summary = summarize([made_up_fold(trial) for trial in trials(Extent(("PTC",)))])
    sheets = [part for part in summary if isinstance(part, Sheet)]
    assert {sheet.columns for sheet in sheets} == {("PTC",)}
    rows = dict(sheets[0].rows)
    assert str(rows["GIN, O(n)"][0].paper) == "64.6 ± 7.0"
    assert str(rows["PPGN*, O(n^3)"][0].paper).startswith("66.2")
    assert "DCNN, O(n)" not in rows
    assert summarize([])[0].columns == DATASETS  # type: ignore[union-attr]


def test_no_fold_has_a_say_in_how_it_is_read() -> None:
    """Two epochs, each good for one fold: selected on all folds one of them shines, chosen elsewhere both fail."""
    curves = [[1.0, 0.0], [0.0, 1.0]]
    found = folds_of_gin(curves)
    selected, elsewhere, _ = summarize(found)
    assert isinstance(selected, Sheet)
    assert isinstance(elsewhere, Sheet)
    assert dict(selected.rows)["GIN, O(n)"][0].values == (100.0, 0.0)
    assert dict(elsewhere.rows)["GIN"][0].values == (0.0, 0.0)
    assert [sheet.title for sheet in summarize(found[:1])] == [  # there is no elsewhere
        "Table 2: graph classification, protocol gin", "Table 2: graph classification, protocol gin, nothing selected",
    ]  # fmt: skip


def test_rounding_does_not_choose_the_epoch() -> None:
    """Equal means stay equal in a file that keeps six digits: the first epoch is the best in either case."""
    curves = [[17 / 18, 16 / 18], [15 / 18, 16 / 18], [16 / 19, 16 / 19]]
    for kept in (curves, [[round(value, 6) for value in curve] for curve in curves]):
        sheet = summarize(folds_of_gin(kept))[0]
        assert isinstance(sheet, Sheet)
        assert dict(sheet.rows)["GIN, O(n)"][0].values == pytest.approx(
            [100 * 17 / 18, 100 * 15 / 18, 100 * 16 / 19], abs=1e-3
        )


def test_folds_of_our_own_are_said() -> None:
    result = {"curve": [0.5], "data": ["folds: stratified, seed 0"]}
    sheet = summarize([Found(replace(SMALL, drops="none"), result, 1.0)])[0]
    assert "MUTAG has folds: stratified, seed 0" in sheet.note


def test_a_grid_is_decided_by_test_folds_or_by_validation() -> None:
    """Of two widths, one is better in the curve that decides; only protocol nested then looks elsewhere."""
    found = []
    for trial in trials(Extent(("MUTAG",), grid=True, contestants=("GIN",), folds=2)):
        good = (trial.hidden, trial.dropout, trial.batch_size) == (16, 0.5, 128)
        for protocol in ("gin", "nested"):
            result = {"curve": [0.9 if good else 0.8], "more_runs": [], "test": 0.5 if good else 1.0}
            found.append(Found(replace(trial, protocol=protocol), result, 1.0))
    assert len(found) == 2 * 2 * 8
    selected, elsewhere, unselected, honest, *by_choice = summarize(found)
    assert isinstance(selected, Sheet)
    assert isinstance(elsewhere, Sheet)
    assert isinstance(unselected, Sheet)
    assert isinstance(honest, Sheet)
    assert dict(elsewhere.rows)["GIN"][0].values == pytest.approx([90.0, 90.0])
    assert dict(selected.rows)["GIN, O(n)"][0].values == pytest.approx([90.0, 90.0])
    assert dict(unselected.rows)["GIN"][0].values == pytest.approx([100 * (0.9 + 7 * 0.8) / 8] * 2)
    assert dict(honest.rows)["GIN"][0].values == pytest.approx([50.0, 50.0])
    for sheet, one, other in zip(by_choice, (90.0, 90.0, 50.0), (80.0, 80.0, 100.0), strict=True):
        assert isinstance(sheet, Sheet)
        rows = dict(sheet.rows)
        assert (sheet.columns, len(rows)) == (("GIN",), 8)
        assert rows.pop("hidden 16, dropout 0.5, batches of 128")[0].values == pytest.approx([one, one])
        assert [cell.mean for (cell,) in rows.values()] == pytest.approx([other] * 7)


def test_nothing_is_selected_from_the_last_epochs() -> None:
    """Fold by fold their mean, whatever the others say; the kernel, whose choices are all there is, has none."""
    curves = [[1.0] * 300 + [0.5] * 50, [0.0] * 300 + [0.6, 0.8] * 25]
    trained = folds_of_gin(curves)
    kernel = Found(replace(SMALL, method="wl", drops="none"), {"curve": [0.9]}, 1.0)
    *_, unselected, _ = summarize([*reversed(trained), kernel])
    assert isinstance(unselected, Sheet)
    assert dict(unselected.rows)["GIN"][0].values == pytest.approx([50.0, 70.0])
    assert dict(unselected.rows)["WL subtree kernel"][0].values == ()


def test_changes_are_paired() -> None:
    """Fold by fold and choice by choice: what was trained only with dropouts, or only without, has no say."""
    plain = replace(SMALL, drops="none")
    accuracy = {
        (plain, 0): 0.5, (plain, 1): 0.6, (plain, 2): 0.0, (replace(plain, hidden=64), 0): 0.0,
        (SMALL, 0): 0.6, (SMALL, 1): 0.9, (replace(SMALL, dropout=0.0), 1): 0.0,
    }  # fmt: skip
    found = [
        Found(replace(trial, fold=fold), {"curve": [value], "more_runs": [value]}, 1.0)
        for (trial, fold), value in accuracy.items()
    ]
    (sheet,) = (part for part in summarize(found) if part.title.endswith("what dropouts change"))
    assert isinstance(sheet, Sheet)
    rows = {name: cells[0] for name, cells in sheet.rows}
    assert list(rows) == [
        "DropGIN, random; protocol gin", "DropGIN, random; protocol gin, nothing selected",
    ]  # fmt: skip
    for cell in rows.values():
        assert cell.values == pytest.approx([10.0, 30.0])
        assert str(cell) == "+20.0 ± 10.0 (n = 2)"
    assert [sheet.title for sheet in summarize(found[:3])][-1].endswith("nothing selected")


def test_ties_go_to_the_first_choice() -> None:
    """As the grid has them, whatever is trained already: two choices equal in validation, the first on one fold only."""
    found = []
    for hidden, folds, test in ((16, [1], 0.1), (32, [0, 1], 0.9)):
        trial = replace(SMALL, drops="none", protocol="nested", hidden=hidden)
        found += [Found(replace(trial, fold=fold), {"curve": [0.5], "test": test}, 1.0) for fold in folds]
    sheet = summarize(found)[0]
    assert isinstance(sheet, Sheet)
    assert dict(sheet.rows)["GIN"][0].values == pytest.approx([90.0, 10.0])


def test_the_course_of_training() -> None:
    """Two halves of training, and above both the one epoch that is selected; a training that is too short has no course."""
    found = folds_of_gin([[0.4] * 49 + [0.9] + [0.6] * 50, [0.6] * 49 + [0.9] + [0.8] * 50])
    *_, course = summarize(found)
    assert isinstance(course, Figure)
    assert list(course.panels) == ["MUTAG"]
    (gin,) = course.panels["MUTAG"]
    assert (gin.name, gin.level) == ("GIN", pytest.approx(0.9))
    assert [x for x, _ in gin.points] == [50.0, 100.0]
    assert gin.points[0][1] == pytest.approx([0.41, 0.606])
    assert gin.points[1][1] == pytest.approx([0.6, 0.8])
    assert not any(isinstance(part, Figure) for part in summarize(folds_of_gin([[0.5] * 49])))


def test_the_paper_decides_widths() -> None:
    widths = {trial.dataset: trial.hidden for trial in trials(Extent())}
    assert widths == {"MUTAG": 32, "PTC": 32, "PTC_MR": 32, "PROTEINS": 32, "IMDB-B": 64, "IMDB-M": 64}
    assert [CONTESTANTS[name][:2] for name in table2.MAIN] == [
        ("wl", "none"), ("gin", "none"), ("gin", "random"), ("gin", "random"), ("gin", "exact"),
    ]  # fmt: skip


def test_a_grid_is_the_papers_or_its_part_of_one_batch_size() -> None:
    def tried(**extent: Any) -> list[tuple[int, float, int]]:
        found = trials(Extent(("PTC_MR",), contestants=("GIN",), **extent))
        return [(one.hidden, one.dropout, one.batch_size) for one in found if one.fold == 9]

    whole = tried(grid=True)
    assert sorted(whole) == sorted(product((16, 32), (0.0, 0.5), (32, 128)))
    assert tried(grid=True, batch_sizes=(128,)) == [choice for choice in whole if choice[-1] == 128]
    assert tried() == [(32, 0.5, 32)]
    assert tried(batch_sizes=(128,)) == [(32, 0.5, 128)]


def test_printed_values_are_the_papers(data_root: Path) -> None:
    printed = data_root.parent / "paper" / "paper_values.toml"
    if not printed.is_file():
        pytest.skip("the paper's printed values are not beside the data")
    table = tomllib.loads(printed.read_text())["table2"]
    assert tuple(table.pop("columns")) == COLUMNS
    assert set(table) == {name.rstrip("*") for name in TABLE2}
    for name, ours in TABLE2.items():
        row = table[name.rstrip("*")]
        assert ours.complexity.replace("r about", "r~").replace("~ ", "~") == row["complexity"]
        for value, text in zip(ours.accuracies, row["acc"], strict=True):
            shown = "-" if value is None else str(value).removesuffix(BEST).strip().replace("±", "+-")
            assert shown.replace(".0 +-", " +-") == text.replace(".0 +-", " +-")
