"""The first screen of the results: the paper's method on every task, and what the paper says of its pictures."""

from __future__ import annotations

from pathlib import Path

import pytest

from dropgnn.experiments.archive import Archive
from dropgnn.experiments.beyond_wl import TASKS, Trial
from dropgnn.experiments.summary import Curve, Figure, Found
from dropgnn.report.glance import _figure_p, glance
from dropgnn.report.markdown import write_markdown
from dropgnn.report.studies import archives_in, heading


def table1(accuracy: float, preset: str = "published", seeds: int = 10) -> Archive:
    found = [
        Found(Trial(task, "dropout", seed, 1_000, preset), {"train": accuracy, "test": accuracy, "by_runs": {}}, 1.0)
        for task in TASKS
        for seed in range(seeds)
    ]
    command = "dropgnn reproduce table1" + (" --preset paper" if preset == "paper" else "")
    return Archive("table1", "table1", tuple(found), 360, {"torch": "1"}, command)


@pytest.mark.parametrize(("accuracy", "verdict"), [(1.0, "within two"), (0.9, "below the paper")])
def test_each_task_is_held_against_the_paper(accuracy: float, verdict: str) -> None:
    lines = {line.what: line for line in glance([table1(accuracy)])}
    assert list(lines) == [f"Table 1, {title}" for title in TASKS.values()]
    assert lines["Table 1, Limits 1"].verdict.startswith(verdict)
    assert lines["Table 1, Limits 1"].paper == "1.00 ± 0.00"


def test_too_few_seeds_are_not_compared() -> None:
    assert all(line.verdict.startswith("not compared") for line in glance([table1(1.0, seeds=2)]))


def test_the_first_archive_of_a_study_is_the_one_that_counts() -> None:
    both = [table1(1.0), table1(0.5, "paper")]
    assert [line.ours for line in glance(both)] == [line.ours for line in glance(both[:1])]
    assert [heading(archive) for archive in both] == [
        "Table 1: six tasks beyond 1-WL (settings of the published code)",
        "Table 1: six tasks beyond 1-WL (settings of the paper's text)",
    ]


def test_a_dip_within_the_range_of_good_p_is_said() -> None:
    dips = Curve("one", ((0.1, (0.5,)), (0.2, (0.97,)), (0.3, (0.93,)), (0.6, (1.0, 0.98)), (0.9, (0.8,))))
    (line,) = _figure_p((Figure("", "p", (dips,)),))
    assert (line.ours, line.verdict) == ("at least 0.93 for p from 0.2 to 0.6, 0.80 at 0.9", "the same")


def test_the_document_of_this_repository_is_what_its_results_say(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    write_markdown(tmp_path / "results.md", archives_in(root / "results"))
    written = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert written == (root / "docs" / "results.md").read_text(encoding="utf-8")
