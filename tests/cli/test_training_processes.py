"""``dropgnn train`` and ``dropgnn reproduce table3`` as real processes: under torchrun, killed, resumed, on Ray."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from dropgnn.data.qm9.dataset import FORMAT
from dropgnn.molecules.trained import TrainedModel
from dropgnn.tensor_files import load_tensors
from tests.kills import PATIENCE

TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
ONE = ("train", "qm9", "--limit", "60", "--epochs", "6", "--batch-size", "8", "--target", "mu")
TRAIN = (*ONE, "--target", "gap")
TABLE3 = (
    "reproduce",
    "table3",
    "--models",
    "1-gnn",
    "--targets",
    "mu",
    "--limit",
    "100",
    "--epochs",
    "12",
    "--seeds",
    "1",
)


@pytest.fixture(scope="module")
def environment(few_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A cache in which QM9 has few molecules."""
    cache = tmp_path_factory.mktemp("cache")
    (cache / "dropgnn").mkdir()
    (cache / "dropgnn" / f"qm9-{FORMAT}").symlink_to(few_folder)
    return os.environ | {"XDG_CACHE_HOME": str(cache), "OMP_NUM_THREADS": "1", "COLUMNS": "200"}


def finish(environment: dict[str, str], folder: Path, *command: str, launcher: tuple[str, ...] = ()) -> str:
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, *launcher, "-m", "dropgnn", *command],
        env=environment, cwd=folder, capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def start_until(
    there: Path, environment: dict[str, str], folder: Path, *command: str, launcher: tuple[str, ...] = ()
) -> subprocess.Popen:
    """Start a command, and wait until a file is there."""
    folder.mkdir(exist_ok=True)
    process = subprocess.Popen(
        [sys.executable, *launcher, "-m", "dropgnn", *command],
        env=environment, cwd=folder, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    began = time.monotonic()
    while not list(folder.glob(str(there))) and time.monotonic() - began < PATIENCE:
        time.sleep(0.005)
    assert process.poll() is None, "it was over before it could be killed"
    return process


def kill_when(there: Path, environment: dict[str, str], folder: Path, *command: str) -> None:
    """Start a command, and kill it and all its processes a moment after a file is there."""
    process = start_until(there, environment, folder, *command)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def is_there(process: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:
        return False


def same(one: Path, other: Path) -> bool:
    """Whether two files have the same facts and, to the bit, the same tensors; the order of their headers is left to chance."""
    (tensors, facts), (others, others_facts) = load_tensors(one), load_tensors(other)
    return facts == others_facts and all(torch.equal(tensors[name], others[name]) for name in tensors | others)


def test_the_same_command_under_torchrun(environment: dict[str, str], tmp_path: Path) -> None:
    """Random runs: other numbers than on one process, but the same ones every time; who is first does the talking."""
    said = [finish(environment, tmp_path / name, *ONE, launcher=TORCHRUN) for name in ("one", "again")]
    assert said[0].count("mean absolute errors") == 1
    (file,) = (tmp_path / "one").iterdir()
    assert same(file, tmp_path / "again" / file.name)
    assert TrainedModel.load(file).settings.epochs == 6


def test_torchrun_killed_alone_takes_its_ranks_along_and_goes_on(environment: dict[str, str], tmp_path: Path) -> None:
    longer = (*ONE, "--epochs", "40")
    finish(environment, tmp_path / "whole", *longer, launcher=TORCHRUN)
    folder = tmp_path / "killed"
    launcher = start_until(Path("*.checkpoint"), environment, folder, *longer, launcher=TORCHRUN)
    task = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children")
    ranks = [int(process) for process in task.read_text().split()]
    assert len(ranks) >= 2
    launcher.kill()
    launcher.wait()
    began = time.monotonic()
    while any(map(is_there, ranks)) and time.monotonic() - began < PATIENCE:
        time.sleep(0.1)
    assert not any(map(is_there, ranks))
    assert list(folder.glob("*.checkpoint"))
    finish(environment, folder, *longer, launcher=TORCHRUN)
    (file,) = folder.iterdir()
    assert same(file, tmp_path / "whole" / file.name)


SLOW_FIRST = """
import os, time
from dropgnn.cli.main import app
if os.environ["RANK"] == "0":
    time.sleep(2.0)
app()
"""


def test_an_error_is_said_once_by_all_ranks(environment: dict[str, str], tmp_path: Path) -> None:
    """Nobody waits for the one who has met it, and it is said even where the first rank is the last to end."""
    (tmp_path / "there").write_text("precious")
    (tmp_path / "slow_first.py").write_text(SLOW_FIRST)
    command = [sys.executable, *TORCHRUN, "slow_first.py", *ONE, "--out", "there"]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode != 0
    assert done.stderr.count("'--out' must not exist yet") == 1
    assert "Connection closed" not in done.stderr


def test_killed_in_the_second_model_it_goes_on_there(environment: dict[str, str], tmp_path: Path) -> None:
    finish(environment, tmp_path / "whole", *TRAIN)
    folder = tmp_path / "killed"
    kill_when(Path("*gap*.checkpoint"), environment, folder, *TRAIN)
    (mu,) = folder.glob("qm9-mu-*.safetensors")
    made = mu.stat().st_mtime_ns
    assert "Drop-1-GNN for mu is trained" in finish(environment, folder, *TRAIN)
    assert mu.stat().st_mtime_ns == made
    for file in (tmp_path / "whole").iterdir():
        assert same(file, folder / file.name)
    assert not list(folder.glob("*.checkpoint"))


def results(folder: Path) -> list[object]:
    """What was found, trial by trial."""
    return [json.loads(path.read_text())["result"] for path in sorted((folder / "runs").glob("*.json"))]


@pytest.fixture(scope="module")
def undisturbed(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    said = finish(environment, folder, *TABLE3)
    assert "mu, Debye" in said
    assert len(results(folder)) == 3  # without dropouts, with random ones, with exact ones
    return folder


def test_a_killed_study_goes_on_within_its_trials(
    undisturbed: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    kill_when(Path("runs/*.checkpoint"), environment, tmp_path, *TABLE3)
    left = list((tmp_path / "runs").glob("*.checkpoint"))
    assert all(load_tensors(path)[1]["position"]["epoch"] > 1 for path in left)
    assert left
    left[0].write_bytes(left[0].read_bytes()[:1000])  # half a file is nothing to go on from
    finish(environment, tmp_path, *TABLE3)
    assert results(tmp_path) == results(undisturbed)
    assert not list((tmp_path / "runs").glob("*.checkpoint"))


@pytest.mark.heavy
def test_a_study_of_molecules_on_ray(undisturbed: Path, environment: dict[str, str], tmp_path: Path) -> None:
    finish(environment, tmp_path, *TABLE3, "--cluster", "local")
    assert results(tmp_path) == results(undisturbed)
