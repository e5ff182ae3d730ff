"""Training on molecules: it learns, it stops and goes on anywhere, and two runs are equal to the bit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from dropgnn.data.qm9.dataset import QM9
from dropgnn.errors import DataProblem, InvalidArgument
from dropgnn.molecules import fitting
from dropgnn.molecules.fitting import Fit, split_molecules
from dropgnn.molecules.models import Settings
from dropgnn.tensor_files import load_tensors
from dropgnn.training.distributed import Ranks

SMALL = Settings(targets=("gap",), limit=60, epochs=3, batch_size=16)


def weights(fit: Fit) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in fit.model.state_dict().items()}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_the_three_parts_are_disjoint_and_decided_by_the_seed() -> None:
    split = split_molecules(1000, 500, seed=3)
    assert [part.numel() for part in split] == [400, 50, 50]
    assert torch.cat(split).unique().numel() == 500
    again, other = split_molecules(1000, 500, seed=3), split_molecules(1000, 500, seed=4)
    assert all(map(torch.equal, split, again))
    assert not torch.equal(split.test, other.test)
    with pytest.raises(InvalidArgument, match="'limit' must lie between 10 and the number of molecules, 1000"):
        split_molecules(1000, 5, seed=0)


def test_targets_are_normalised_with_the_training_part_alone(few: QM9) -> None:
    fit = Fit(SMALL, few)
    known = few.target("gap")[fit.split.train.numpy()]
    assert float(fit.centre) == pytest.approx(known.mean())
    assert float(fit.deviation) == pytest.approx(known.std())


@pytest.mark.parametrize(("model", "drops"), [("1-gnn", "none"), ("1-gnn-skip", "exact"), ("mpnn", "random")])
def test_every_model_learns_a_few_molecules(model: str, drops: str, few: QM9) -> None:
    batch_size = 8 if model == "mpnn" else 4
    fit = Fit(Settings(model, drops, ("alpha", "zpve"), limit=20, epochs=30, batch_size=batch_size), few)
    fit.run()
    losses = [loss for loss, _ in fit.position.curve]
    assert losses[-1] < 0.5 * losses[0]


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("drops", ["none", "random"])
def test_threads_do_not_change_the_numbers_from_run_to_run(drops: str, few: QM9) -> None:
    found = []
    for _ in range(3):
        fit = Fit(replace(SMALL, drops=drops, batch_size=48, epochs=2), few)
        fit.run()
        found.append(weights(fit))
    assert same(found[0], found[1])
    assert same(found[0], found[2])


def test_the_best_epoch_by_validation_is_kept(few: QM9) -> None:
    fit = Fit(Settings(limit=60, epochs=6, batch_size=8), few)
    fit.run()
    errors = [error for _, error in fit.position.curve]
    assert fit.position.best == 1 + errors.index(min(errors))


def test_the_learning_rate_falls_where_validation_stands_still(few: QM9, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Fit, "errors", lambda self, part: torch.ones(1, dtype=torch.float64))
    fit = Fit(Settings(limit=20, epochs=fitting.PATIENCE + 2, batch_size=16), few)
    fit.run()
    assert fit._optimizer.param_groups[0]["lr"] == pytest.approx(fitting.LEARNING_RATE * fitting.FACTOR)


def test_stopped_after_any_step_it_goes_on_with_the_same_numbers(few: QM9, tmp_path: Path) -> None:
    whole = Fit(SMALL, few)
    whole.run()
    total = SMALL.epochs * whole.steps
    for stop in (1, whole.steps, whole.steps + 2, total - 1):

        class Enough(Exception):
            pass

        def until(done: int, stop: int = stop) -> None:
            if done == stop:
                raise Enough

        path = tmp_path / f"{stop}.checkpoint"
        first = Fit(SMALL, few, checkpoint=path)
        with pytest.raises(Enough):
            first.run(until)
        first.save()
        second = Fit(SMALL, few, checkpoint=path)
        assert (second.position.epoch - 1) * second.steps + second.position.step == stop
        second.run()
        assert same(weights(second), weights(whole))
        assert same(second.best, whole.best)
        assert second.position == whole.position


def test_a_checkpoint_of_another_training_or_a_damaged_one_is_refused(few: QM9, tmp_path: Path) -> None:
    path = tmp_path / "one.checkpoint"
    fit = Fit(SMALL, few, checkpoint=path)
    fit.save()
    with pytest.raises(DataProblem, match="belongs to a training with other settings, molecules or ranks; remove it"):
        Fit(Settings(targets=("mu",), limit=60, epochs=3, batch_size=16), few, checkpoint=path)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(DataProblem, match="is damaged"):
        Fit(SMALL, few, checkpoint=path)


def test_ctrl_c_in_the_middle_of_a_step_counts_after_it(few: QM9, monkeypatch: pytest.MonkeyPatch) -> None:
    fit = Fit(SMALL, few)
    step = fit.take_step

    def struck(model: torch.nn.Module, chosen: torch.Tensor) -> float:
        if fit.position.step == 1:
            os.kill(os.getpid(), signal.SIGINT)
        return step(model, chosen)

    monkeypatch.setattr(fit, "take_step", struck)
    with pytest.raises(KeyboardInterrupt):
        fit.run()
    assert fit.position.step == 2


@pytest.fixture
def interruptible() -> Iterator[None]:
    """As in a terminal; processes that share tests among them leave Ctrl-C to the first one."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_does_not_wait_for_validation_and_nothing_is_lost(few: QM9, tmp_path: Path) -> None:
    whole = Fit(SMALL, few)
    whole.run()
    fit = Fit(SMALL, few, checkpoint=tmp_path / "one.checkpoint")
    looked = 0

    def struck(*_: object) -> None:
        nonlocal looked
        if not fit.model.training:
            looked += 1
            os.kill(os.getpid(), signal.SIGINT)

    fit.model.register_forward_pre_hook(struck)
    with pytest.raises(KeyboardInterrupt):
        fit.run()
    fit.save()
    assert (looked, fit.position.epoch, fit.position.step) == (1, 1, fit.steps)
    again = Fit(SMALL, few, checkpoint=tmp_path / "one.checkpoint")
    again.run()
    assert same(weights(again), weights(whole))
    assert again.position == whole.position


def test_every_rank_must_have_something_to_do(few: QM9) -> None:
    with pytest.raises(InvalidArgument, match="must give each of the 32 ranks a molecule"):
        Fit(Settings("mpnn", limit=60), few, ranks=Ranks(0, 32))


def test_a_constant_target_is_said(few: QM9) -> None:
    flat = QM9(**(vars(few) | {"properties": few.properties * 0.0}))
    with pytest.raises(DataProblem, match="the same for all molecules"):
        Fit(SMALL, flat)


PROGRAM = """
import os, signal, sys
from pathlib import Path
import torch
from dropgnn.data.qm9.dataset import QM9
from dropgnn.molecules import fitting
from dropgnn.molecules.models import Settings
from dropgnn.tensor_files import save_tensors

calls, at, moment = 0, sys.argv[1], int(sys.argv[2])

def count(*given):
    global calls
    calls += 1
    if calls == moment:
        os.kill(os.getpid(), signal.SIGKILL)

fitting.SAVE_EVERY = 0.0  # after every step
torch.set_num_threads(1)
folder, checkpoint, out = map(Path, sys.argv[3:])
fit = fitting.Fit(Settings(limit=60, epochs=8, batch_size=8), QM9.load(folder), checkpoint=checkpoint)
if at == "save":  # written, and not yet in its place
    os.fsync = count
elif at == "forward":
    fit.model.register_forward_pre_hook(count)
fit.run()
save_tensors(out, fit.model.state_dict(), {"curve": fit.position.curve})
"""


def test_killed_while_training_the_weights_are_those_of_one_never_killed(few_folder: Path, tmp_path: Path) -> None:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}

    def run(name: str, kill_at: str = "never", moment: int = 0) -> int:
        files = [str(tmp_path / f"{name}.{kind}") for kind in ("checkpoint", "weights")]
        command = [sys.executable, "-c", PROGRAM, kill_at, str(moment), str(few_folder), *files]
        return subprocess.run(command, env=environment, check=False).returncode

    assert run("whole") == 0
    assert run("killed", "save", 9) == -signal.SIGKILL
    assert run("killed", "forward", 16) == -signal.SIGKILL
    position = load_tensors(tmp_path / "killed.checkpoint")[1]["position"]
    assert (position["epoch"], position["step"]) == (4, 2)
    assert run("killed") == 0
    whole, killed = (load_tensors(tmp_path / f"{name}.weights") for name in ("whole", "killed"))
    assert same(whole[0], killed[0])
    assert whole[1] == killed[1]
