"""Studies that are killed, resumed and spread end as if nothing had happened."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMAND = ("reproduce", "table1", "--task", "limits1", "--seeds", "1", "--epochs", "60")
TRIALS = 6
MAY_DIFFER = (b'"seconds"', b'"finished"', b'"commit"')


def arguments(folder: Path, *more: str) -> list[str]:
    kept = ("--work", str(folder / "runs"), "--results", str(folder / "results"))
    return [sys.executable, "-c", "from dropgnn.cli.main import app; app()", *COMMAND, *kept, *more]


def finish(folder: Path, *more: str) -> dict[str, bytes]:
    subprocess.run(arguments(folder, *more), check=True, capture_output=True)
    return files(folder)


def files(folder: Path) -> dict[str, bytes]:
    """Every result file, byte for byte, but for what may differ: when it was made, by which commit, and how long it took."""
    return {
        path.name: b"".join(line for line in path.read_bytes().splitlines() if not line.strip().startswith(MAY_DIFFER))
        for path in (folder / "runs").glob("*.json")
    }


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return finish(tmp_path_factory.mktemp("undisturbed"), "--jobs", "2")


def test_one_process_gives_the_same_numbers(undisturbed: dict[str, bytes], tmp_path: Path) -> None:
    assert len(undisturbed) == TRIALS
    assert finish(tmp_path, "--jobs", "1") == undisturbed


def test_ray_gives_the_same_numbers(undisturbed: dict[str, bytes], tmp_path: Path) -> None:
    assert finish(tmp_path, "--cluster", "local") == undisturbed


def test_killed_ten_times_and_resumed(undisturbed: dict[str, bytes], tmp_path: Path) -> None:
    """Killed at random moments, once with half a file left behind; the last run does only what is missing."""
    moments, done = random.Random(0), set[str]()  # kills fall before, between and inside trials
    partial = 0
    for _ in range(10):
        running = subprocess.Popen(arguments(tmp_path), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(moments.uniform(2.0, 7.0))
        running.kill()
        running.wait()
        now = set(files(tmp_path))
        assert done <= now
        done = now
        partial += len(done) < TRIALS
    assert partial, "every kill came too late"
    made = {name: (tmp_path / "runs" / name).stat().st_mtime_ns for name in done}
    broken = tmp_path / "runs" / sorted(undisturbed)[0]
    broken.parent.mkdir(exist_ok=True)
    made.pop(broken.name, None)
    broken.write_text('{"config": {"experiment"')
    assert finish(tmp_path) == undisturbed
    assert broken.with_suffix(".broken").is_file()
    assert made == {name: (tmp_path / "runs" / name).stat().st_mtime_ns for name in made}


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
    running = in_a_terminal(arguments(tmp_path, "--epochs", "1000"))
    deadline = time.monotonic() + 120
    while not list((tmp_path / "runs").glob("*.json")) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 128 + signal.SIGINT
    assert "Traceback" not in out + err
    kept = len(files(tmp_path))
    assert 1 <= kept < TRIALS
    assert f"interrupted: {kept} of {TRIALS} are done and kept; run again to go on" in err
    archive = json.loads((tmp_path / "results" / "table1-limits1-1-seeds-1000-epochs.json").read_text())
    assert (len(archive["trials"]), archive["planned"]) == (kept, TRIALS)


def test_ctrl_c_at_once(tmp_path: Path) -> None:
    """While processes are still starting: no traceback from any of them."""
    running = in_a_terminal(arguments(tmp_path))
    deadline = time.monotonic() + 120
    while not _has_workers(running.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 128 + signal.SIGINT
    assert "Traceback" not in out + err


def _has_workers(group: int) -> bool:
    """Whether a process group has started processes of its own (Linux)."""
    command = ["pgrep", "--pgroup", str(group), "--full", "spawn_main"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
