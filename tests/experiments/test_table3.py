"""Table 3: its trials, its tables, and one small run of it."""

from __future__ import annotations

import pytest

from dropgnn.data.qm9.dataset import QM9
from dropgnn.data.qm9.targets import TARGETS
from dropgnn.experiments import property_regression
from dropgnn.experiments.paper import TABLE3
from dropgnn.experiments.property_regression import Trial, run
from dropgnn.experiments.studies.table3 import Extent, summarize, trials
from dropgnn.experiments.summary import Found, Sheet


def test_trials_of_the_whole_study() -> None:
    every = trials(Extent())
    assert len(every) == len(set(every)) == 3 * 3 * 12 + 3 * 3 * 2  # and two more seeds for three targets of the 1-GNN
    assert {trial.target for trial in every if trial.model == "mpnn"} == set(TARGETS)
    assert len(trials(Extent(("mpnn",), ("mu",), seeds=4))) == 12


def test_the_paper_has_a_value_for_every_target() -> None:
    assert list(TABLE3) == list(TARGETS)
    assert TABLE3["r2"]["DropMPNN"].mean == 0.392


def test_errors_and_ratios() -> None:
    found = [
        Found(Trial("1-gnn", drops, "gap", 100, 2, seed=seed), {"test": error}, 1.0)
        for drops, errors in (("none", (0.010, 0.020)), ("random", (0.005, 0.015)), ("exact", (0.004, 0.010)))
        for seed, error in enumerate(errors)
    ]
    errors, ratios = summarize(found)
    assert isinstance(errors, Sheet)
    assert isinstance(ratios, Sheet)
    assert errors.columns == ("1-GNN", "Drop-1-GNN", "Drop-1-GNN, exact")
    assert ratios.columns == ("Drop-1-GNN", "Drop-1-GNN, exact")
    ((row, (base, drop, exact)),) = errors.rows
    assert row == "gap, Hartree"
    assert str(base) == "0.0150 ± 0.0050 (n = 2)"
    assert base.paper is not None
    assert base.paper.mean == 0.0049
    assert "100 molecules, 80/10/10, 2 epochs" in errors.note
    ((_, (ratio, exact_ratio)),) = ratios.rows
    assert ratio.values == pytest.approx((0.5, 0.75))
    assert str(ratio.paper) == "0.94"
    assert drop.verdict == ""
    assert exact_ratio.values == pytest.approx((0.4, 0.5))
    assert exact.paper is exact_ratio.paper is None


def test_a_partial_study_has_gaps() -> None:
    errors, ratios = summarize([Found(Trial("mpnn", "none", "mu"), {"test": 0.4}, 1.0)])
    assert isinstance(errors, Sheet)
    assert isinstance(ratios, Sheet)
    assert [str(cell) for cell in errors.rows[0][1]] == ["0.400", "-", "-"]
    assert [str(cell) for cell in ratios.rows[0][1]] == ["-", "-"]
    assert "all molecules" in errors.note
    assert summarize([])[0].title.startswith("Table 3")


def test_a_trial_is_the_same_twice(few: QM9, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(property_regression, "molecules", lambda: few)
    trial = Trial("1-gnn", "random", "alpha", limit=60, epochs=2)
    seen: list[int] = []
    first, second = run(trial, lambda epoch, loss: seen.append(epoch)), run(trial)
    assert seen == [1, 2]
    for result in (first, second):
        assert result["seconds"] > 0
        result["seconds"] = 0.0
    assert first == second
    assert len(first["curve"]) == 2
