"""The commands as a user types them; one as a process of its own, the others in this process."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from dropgnn.errors import InvalidArgument
from dropgnn.experiments import beyond_wl
from dropgnn.experiments.graph_classification import dataset_of
from dropgnn.training.parallel import Finished
from tests.cli.running import dropgnn
from tests.data.test_datasets import write_tu


def test_help_lists_the_commands() -> None:
    """As a process, with the module's name instead of the console script."""
    shown = subprocess.run([sys.executable, "-m", "dropgnn", "--help"], capture_output=True, text=True)
    assert shown.returncode == 0
    assert "plan" in shown.stdout
    assert "demo" in shown.stdout


def test_plan_for_a_synthetic_task() -> None:
    shown = dropgnn("plan", "triangles", "--hops", "1")
    assert shown.returncode == 0
    assert "gamma                   3.00   mean size of 1-hop neighbourhoods" in shown.stdout
    assert "p*                    0.2500" in shown.stdout
    assert "r                         11" in shown.stdout
    assert "A p for each region" not in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80


def test_plan_for_a_file(tmp_path: Path) -> None:
    path = tmp_path / "star.edges"
    path.write_text("\n".join(f"hub leaf{number}" for number in range(9)) + "\na b\n")
    shown = dropgnn("plan", str(path), "--reduce", "max")
    assert shown.returncode == 0
    assert "9.00   max size of 2-hop neighbourhoods" in shown.stdout
    assert "A p for each region" in shown.stdout
    assert "p*                    0.1000" in shown.stdout


def test_a_file_that_may_not_be_read_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "locked.edges").write_text("a b\n")
    with patch.object(Path, "read_text", side_effect=PermissionError(13, "Permission denied", "locked.edges")):
        shown = dropgnn("plan", str(tmp_path / "locked.edges"))
    assert (shown.returncode, shown.stderr) == (
        2,
        f"error: {tmp_path / 'locked.edges'} cannot be read (Permission denied)\n",
    )


def test_plan_for_raw_files(tmp_path: Path) -> None:
    write_tu(tmp_path / "OWN")
    shown = dropgnn("plan", "OWN", "--data", str(tmp_path))
    assert (shown.returncode, "2   5 nodes" in shown.stdout) == (0, True)


def test_plan_for_a_real_dataset(data_root: Path) -> None:
    shown = dropgnn("plan", "MUTAG", "--hops", "4", DROPGNN_DATA=str(data_root))
    assert shown.returncode == 0
    assert "3,371 nodes" in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["plan", "atlantis"], "error: no dataset 'atlantis' in "),
        (["plan", "none.g6"], "error: there is no file none.g6"),
        (["plan", "lcc", "--delta", "2"], "error: '--delta' must lie in (0, 1] (got 2.0)"),
        (["plan", "lcc", "--hops", "0"], "Invalid value for '--hops'"),
        (["plan", "lcc", "--reduce", "median"], "Invalid value for '--reduce'"),
    ],
)
def test_mistakes_get_a_sentence_and_status_2(arguments: list[str], message: str) -> None:
    shown = dropgnn(*arguments)
    assert shown.returncode == 2
    assert message in " ".join(shown.stderr.split())
    assert "Traceback" not in shown.stderr


def spread_here(work: Any, trials: Any, *, jobs: int) -> Any:
    """Trials one after another in this process."""
    return (Finished(number, work(trial, None)) for number, trial in enumerate(trials))


def test_demo_shows_a_table_and_writes_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With made-up results; tests/report/test_demo_page.py reads the page."""

    def made_up(trial: beyond_wl.Trial, on_epoch: object) -> beyond_wl.Result:
        right = 1.0 if trial.method == "dropout" else 0.5
        return beyond_wl.Result(train=1.0, test=right, exact={}, by_runs={}, seconds=1.0)

    monkeypatch.setattr("dropgnn.training.parallel.spread", spread_here)
    monkeypatch.setattr(beyond_wl, "run", made_up)
    shown = dropgnn("demo", "--seeds", "1", "--out", str(tmp_path / "demo.html"))
    assert shown.returncode == 0, shown.stderr
    assert re.search(r"GIN +0\.50 +0\.50 ± 0\.00 +0\.50 +0\.50 ± 0\.00", shown.stdout)
    assert re.search(r"GIN \+ dropout +1\.00 +1\.00 ± 0\.00", shown.stdout)
    page = (tmp_path / "demo.html").read_text()
    assert page.count("<svg") == 3
    assert page.count("<tr") == 6


@pytest.mark.heavy
def test_demo_with_one_seed(tmp_path: Path) -> None:
    """The whole demonstration: GIN guesses, and DropGIN is far above that on both tasks."""
    shown = dropgnn("demo", "--seeds", "1", "--out", str(tmp_path / "demo.html"))
    assert shown.returncode == 0, shown.stderr
    assert re.search(r"GIN +0\.50 +0\.50 ± 0\.00 +0\.50 +0\.50 ± 0\.00", shown.stdout)
    (limits1, four_cycles) = re.findall(r"GIN \+ dropout +(\d\.\d\d) +\S+ ± \S+ +(\d\.\d\d) ", shown.stdout)[0]
    assert min(float(limits1), float(four_cycles)) > 0.8


def test_distinguish_a_named_pair_and_draw_it(tmp_path: Path) -> None:
    picture = tmp_path / "pair.svg"
    shown = dropgnn("distinguish", "example1", "--p", "1/8", "--picture", str(picture))
    assert shown.returncode == 0, shown.stderr
    assert "1-WL does not separate the pair; dropouts of 1 node do (any depth), and no fewer" in shown.stdout
    assert "8 dropped sets show it in A, 0 in B; with p = 1/8 that is 0.393 against 0" in shown.stdout
    assert picture.read_text().startswith("<svg")


def test_distinguish_two_files(tmp_path: Path) -> None:
    """Two triangles and a hexagon, in two formats."""
    (tmp_path / "two.edges").write_text("a b\nb c\nc a\nx y\ny z\nz x\n")
    (tmp_path / "six.g6").write_text("EhEG\n")
    shown = dropgnn("distinguish", str(tmp_path / "two.edges"), str(tmp_path / "six.g6"), "--depth", "3")
    assert "dropouts of 1 node do (depth 3)" in shown.stdout
    nodes = dropgnn("distinguish", "figure3:5", "--nodes", "10", "10", "--depth", "2")
    assert "dropouts of 3 nodes do (depth 2)" in nodes.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nonsense",), "'nonsense' is neither a file nor a pair"),
        (("example1", "--p", "2"), "'--p' must be a number between 0 and 1"),
        (("example1", "--picture", "x.txt"), "'--picture' must be a file .svg or .png"),
    ],
)
def test_distinguish_says_what_is_wrong(arguments: tuple[str, ...], message: str) -> None:
    shown = dropgnn("distinguish", *arguments)
    assert shown.returncode == 2
    assert message in shown.stderr.replace("\n", " ")
    assert "Traceback" not in shown.stderr


def test_brec_without_data(tmp_path: Path) -> None:
    nowhere = dict.fromkeys(("HTTPS_PROXY", "https_proxy"), "http://127.0.0.1:9")  # or it would be downloaded
    shown = dropgnn("brec", "certificate", DROPGNN_DATA=str(tmp_path), XDG_CACHE_HOME=str(tmp_path), **nowhere)
    assert shown.returncode == 2
    assert "BREC was not found; pass --data DIR or set DROPGNN_DATA" in shown.stderr


def test_report_without_results(tmp_path: Path) -> None:
    """A folder without results makes a page that says so; no folder is an error (tests/cli/test_arguments.py)."""
    page = tmp_path / "report.html"
    shown = dropgnn("report", "--results", str(tmp_path), "--output", str(page))
    assert shown.returncode == 0
    assert "no studies" in shown.stdout
    assert "There are no results yet" in page.read_text()


@pytest.mark.usefixtures("own_cache")
def test_data_list_has_others_behind_the_papers(small_folder: Path, tmp_path: Path) -> None:
    write_tu(tmp_path / "tu" / "Own-Data")
    write_tu(tmp_path / "heap" / "X").rename(tmp_path / "Y")
    (tmp_path / "Y" / "Z_A.txt").touch()
    others = dropgnn("data", "list", "--data", str(tmp_path), DROPGNN_DATA=str(small_folder)).stdout
    assert re.search(r"Own-Data +2 +2 +- +2 to 3 +2.50 +1 to 2 +1.50", others)
    assert others.index("MUTAG") < others.index("Own-Data")


def test_data_list_and_show(data_root: Path, tmp_path: Path) -> None:
    """What is there, with the paper's statistics; what is damaged is not called missing."""
    listed = dropgnn("data", "list", DROPGNN_DATA=str(data_root))
    assert listed.returncode == 0
    for graphs in ("188", "344", "1109", "996", "1498"):
        assert graphs in listed.stdout.replace(",", "")
    shutil.copytree(data_root / "tu" / "MUTAG", tmp_path / "MUTAG")
    text = tmp_path / "MUTAG" / "MUTAG.txt"
    text.write_text("\n".join(text.read_text().splitlines()[:547]))
    damaged = dropgnn("data", "list", "--data", str(tmp_path))
    assert damaged.returncode == 2
    assert "MUTAG.txt ends early: line 548 is missing" in " ".join(damaged.stderr.split())
    assert "the paper prints the statistics of PTC_MR" in dropgnn("data", "show", "PTC").stdout
    without, whole = (dropgnn("data", "show", "PTC_MR", *all_of_it).stdout for all_of_it in ((), ("--filter", "none")))
    assert "nodes: 3877 of 8792 left out" in without
    assert ("PTC without hydrogens" in without, "PTC without hydrogens" in whole) == (True, False)
    shown = dropgnn("data", "show", "MUTAG", "--data", str(data_root))
    assert "folds: published" in shown.stdout


@pytest.fixture
def datasets_read_anew() -> Iterator[None]:
    """Other tests may have read datasets of the same names from elsewhere."""
    dataset_of.cache_clear()
    yield
    dataset_of.cache_clear()


@pytest.mark.usefixtures("datasets_read_anew")
def test_a_small_table_2_and_the_same_again_elsewhere(small_folder: Path, tmp_path: Path) -> None:
    """Two folds and epochs, as a user runs them; then on a machine that has the study's file alone."""
    size = ("--dataset", "MUTAG", "--batch-size", "16", "--drops", "exact, none", "--folds", "2", "--epochs", "2")
    places = ("--jobs", "1", "--data", str(small_folder), "--results", str(tmp_path / "results"))
    first = dropgnn("reproduce", "table2", *size, "--work", str(tmp_path / "one"), *places)
    assert first.returncode == 0
    assert "selected on test folds" in " ".join(first.stdout.split())
    (file,) = (tmp_path / "results").iterdir()
    assert file.name == "table2-MUTAG-16-batch-size-none-exact-2-folds-2-epochs.json"
    written = file.read_text()
    assert written.count('"batch_size": 16') == 6
    again = dropgnn("reproduce", "table2", *size, "--adopt", "--work", str(tmp_path / "two"), *places)
    assert "6 trials taken from" in again.stderr
    assert again.stdout == first.stdout
    assert file.read_text() == written


def test_a_study_of_which_trials_fail_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is done is written and shown, and what failed is said."""
    honest = beyond_wl.run

    def failing(trial: beyond_wl.Trial, on_epoch: object = None) -> beyond_wl.Result:
        if trial.seed == 1:
            raise InvalidArgument("seed", "must not be 1", got=1)
        return honest(trial)

    monkeypatch.setattr("dropgnn.experiments.runner.spread", spread_here)
    monkeypatch.setattr(beyond_wl, "run", failing)
    size = ("--task", "limits1", "--method", "gin", "--seeds", "2", "--epochs", "1")
    places = ("--work", str(tmp_path / "runs"), "--results", str(tmp_path / "results"))
    shown = dropgnn("reproduce", "table1", *size, *places)
    assert shown.returncode == 2
    assert "1 of 2 trials failed" in shown.stderr
    assert "must not be 1" in shown.stderr
    assert "Limits 1" in shown.stdout
    (file,) = (tmp_path / "results").iterdir()
    assert len(json.loads(file.read_text())["trials"]) == 1
