"""Studies that are killed, resumed and spread end as if nothing had happened."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from dropgnn.errors import DropGNNError, InvalidArgument
from dropgnn.experiments import runner
from dropgnn.experiments.runner import Together, run_missing
from dropgnn.experiments.store import Store
from dropgnn.training.parallel import Finished, Progress
from tests.experiments.test_store import Square, square
from tests.kills import PATIENCE, Command, finish, kill_when, spread_here

COMMAND = ("reproduce", "table1", "--task", "limits1", "--seeds", "1", "--epochs", "60")
TRIALS = 6
MAY_DIFFER = (b'"seconds"', b'"finished"', b'"commit"')


def arguments(folder: Path, *more: str) -> list[str]:
    kept = ("--work", str(folder / "runs"), "--results", str(folder / "results"))
    return [sys.executable, "-c", "from dropgnn.cli.main import app; app()", *COMMAND, *kept, *more]


def files(folder: Path) -> dict[str, bytes]:
    """Every result file, byte for byte, but for what may differ: when it was made, by which commit, and how long it took."""
    return {
        path.name: b"".join(line for line in path.read_bytes().splitlines() if not line.strip().startswith(MAY_DIFFER))
        for path in (folder / "runs").glob("*.json")
    }


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a study in which one trial follows the other in one process."""
    folder = tmp_path_factory.mktemp("undisturbed")
    finish(Command(COMMAND, folder / "study", folder))
    found = files(folder / "study")
    assert len(found) == TRIALS
    return found


def test_ray_gives_the_same_numbers(undisturbed: dict[str, bytes], tmp_path: Path) -> None:
    subprocess.run(arguments(tmp_path, "--cluster", "local", "--jobs", "1"), check=True, capture_output=True)
    assert files(tmp_path) == undisturbed


def test_killed_and_resumed(undisturbed: dict[str, bytes], tmp_path: Path) -> None:
    """A study on two processes, killed when the first result is there; then with half a file left behind, and killed again in
    one process. What is done stays, and the last run does only what is missing. (More kills: ``tests/test_many_kills.py``.)"""
    command, here = Command(COMMAND, tmp_path / "study", tmp_path), tmp_path / "study"
    running = subprocess.Popen(
        arguments(here, "--jobs", "2"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    wait_until(lambda: files(here), running)
    running.kill()  # its processes end by themselves
    running.wait()
    wait_until(lambda: not _has_workers(running.pid), every=0.25)
    done = files(here)
    assert 0 < len(done) < TRIALS, "the kill came too late"
    assert done.items() <= undisturbed.items()
    kill_when(lambda: len(files(here)) > len(done), command)
    made = {name: (here / "runs" / name).stat().st_mtime_ns for name in files(here)}
    assert done.keys() < made.keys()
    broken = here / "runs" / sorted(undisturbed)[0]
    made.pop(broken.name, None)
    broken.write_text('{"config": {"experiment"')
    finish(command)
    assert files(here) == undisturbed
    assert broken.with_suffix(".broken").is_file()
    assert made == {name: (here / "runs" / name).stat().st_mtime_ns for name in made}


def wait_until(there: Callable[[], object], running: subprocess.Popen[Any] | None = None, every: float = 0.05) -> None:
    """Until something is there, or a process that should bring it is at its end."""
    began = time.monotonic()
    while not there() and (running is None or running.poll() is None):
        assert time.monotonic() - began < PATIENCE
        time.sleep(every)


def in_a_terminal(command: list[str]) -> subprocess.Popen[str]:
    """Start a process in a group of its own, for which Ctrl-C is what it is, whatever the tests were started from."""
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def test_ctrl_c_ends_cleanly_and_keeps_what_is_done(tmp_path: Path) -> None:
    """A process group gets the signal, as from a terminal: one word, no traceback, and the study's file is there."""
    running = in_a_terminal(arguments(tmp_path, "--epochs", "100", "--jobs", "1"))
    wait_until(lambda: files(tmp_path), running)
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=PATIENCE)
    assert running.returncode == 128 + signal.SIGINT
    assert "Traceback" not in out + err
    kept = len(files(tmp_path))
    assert 1 <= kept < TRIALS
    assert f"interrupted: {kept} of {TRIALS} are done and kept; run again to go on" in err
    archive = json.loads((tmp_path / "results" / "table1-limits1-1-seeds-100-epochs.json").read_text())
    assert (len(archive["trials"]), archive["planned"]) == (kept, TRIALS)


def test_ctrl_c_at_once(tmp_path: Path) -> None:
    """While processes are still starting: no traceback from any of them."""
    running = in_a_terminal(arguments(tmp_path))
    wait_until(lambda: _has_workers(running.pid), running, every=0.25)
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=PATIENCE)
    assert running.returncode == 128 + signal.SIGINT
    assert "Traceback" not in out + err


def _has_workers(group: int) -> bool:
    """Whether a process group has started processes of its own (Linux)."""
    command = ["pgrep", "--pgroup", str(group), "--full", "spawn_main"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def squares(trials: Sequence[Square], on_epoch: Callable[[int, float], None] | None) -> list[dict[str, Any]]:
    """Several at once, and each mark says how many; 13 is unlucky."""
    for trial in trials:
        (Path(trial.folder) / f"{len(trials)}-with-{trial.number}").touch()
    return [unlucky(trial, on_epoch) for trial in trials]


def unlucky(trial: Square, on_epoch: Callable[[int, float], None] | None) -> dict[str, Any]:
    if trial.number == 13:
        raise InvalidArgument("number", "must be lucky", got=13)
    return square(trial, on_epoch)


SMALL_OR_LARGE = Together[Square](lambda trial: trial.number < 2, squares)


def stored(tmp_path: Path, *numbers: int) -> tuple[Store, list[Square]]:
    """A store with the square of 3, and trials."""
    (tmp_path / "marks").mkdir()
    store, trials = Store(tmp_path / "runs", "squares"), [Square(number, str(tmp_path / "marks")) for number in numbers]
    store.put(Square(3, str(tmp_path / "marks")), {"square": 9}, seconds=1.0)
    return store, trials


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """For what does not depend on where trials run; ``tests/training/test_parallel.py`` has processes."""
    monkeypatch.setattr(runner, "spread", spread_here)


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize(("jobs", "how"), [(1, "2-with"), (2, "ran")], ids=["together", "one by one"])
def test_what_belongs_together_runs_together(jobs: int, how: str, tmp_path: Path) -> None:
    """Two small numbers and three large ones, one of them there already; where two groups are too few for all, one by one."""
    store, trials = stored(tmp_path, 0, 1, 2, 3, 4)
    news = list(run_missing(square, trials, store, jobs=jobs, together=SMALL_OR_LARGE))
    marks = {path.name for path in (tmp_path / "marks").iterdir() if not path.name.startswith("ran") or how == "ran"}
    assert marks == {f"{how}-{number}" for number in (0, 1, 2, 4)}
    finished = {item.number: item.result for item in news if isinstance(item, Finished)}
    assert finished == {number: {"square": number**2} for number in (0, 1, 2, 4)}
    assert [store.get(trial) for trial in trials] == [{"square": number**2} for number in range(5)]


@pytest.mark.usefixtures("in_this_process")
def test_nobody_goes_down_with_another(tmp_path: Path) -> None:
    """Of three that fail together, two succeed by themselves; the third is named, and the next run tries it alone."""
    store, trials = stored(tmp_path, 0, 1, 5, 13, 7)
    for _ in range(2):
        with pytest.raises(
            DropGNNError,
            match=r"1 of \d trials failed; .* was Square\(number=13, .*: InvalidArgument: 'number' must be lucky",
        ):
            list(run_missing(unlucky, trials, store, jobs=1, together=SMALL_OR_LARGE))
        assert [store.get(trial) is not None for trial in trials] == [True, True, True, False, True]


def test_news_is_for_every_member_of_a_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And all results are kept before anyone hears of the first."""
    store, trials = stored(tmp_path, 0, 1, 2, 4)

    def spread(task: Callable[..., Any], tasks: Sequence[Any], *, jobs: int) -> Iterator[Progress | Finished[Any]]:
        yield Progress(1, 10)
        yield Finished(1, task(tasks[1], None))

    monkeypatch.setattr(runner, "spread", spread)
    news = run_missing(square, trials, store, jobs=1, together=SMALL_OR_LARGE)
    assert [next(news), next(news)] == [Progress(2, 10), Progress(3, 10)]
    assert next(news) == Finished(2, {"square": 4})
    news.close()
    assert [store.get(trial) is not None for trial in trials] == [False, False, True, True]
