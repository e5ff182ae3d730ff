"""Two processes under torchrun with half of each batch take the steps of one process with all of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from dropgnn.data.qm9.dataset import QM9
from dropgnn.molecules.fitting import Fit
from dropgnn.molecules.models import Settings
from dropgnn.tensor_files import load_tensors
from dropgnn.training.distributed import Ranks
from dropgnn.training.loop import inputs
from tests.training import ranks_program

TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")


Found = dict[str, tuple[dict[str, torch.Tensor], dict]]
"""Weights and facts by what was trained."""


@pytest.fixture(scope="module")
def alone(few_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Found:
    out = tmp_path_factory.mktemp("alone")
    ranks_program.main(few_folder, out)
    return {what: load_tensors(out / what) for what in ranks_program.WHAT}


@pytest.fixture(scope="module")
def together(few_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Found:
    """All under one torchrun, as starting its ranks takes longer than training."""
    out = tmp_path_factory.mktemp("together")
    command = [sys.executable, *TORCHRUN, ranks_program.__file__, str(few_folder), str(out)]
    done = subprocess.run(
        command, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return {what: load_tensors(out / what) for what in ranks_program.WHAT}


def distance(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor], prefix: str = "") -> float:
    assert one.keys() == other.keys()
    return max(float((one[name] - other[name]).abs().max()) for name in one if name.startswith(prefix))


@pytest.mark.parametrize("model", ["1-gnn", "mpnn"])
def test_molecules_with_batches_that_do_not_divide_evenly(model: str, alone: Found, together: Found) -> None:
    (weights, said), (others, heard) = alone[model], together[model]
    assert distance(weights, others) < 1e-9
    assert torch.tensor(said["curve"]).numpy() == pytest.approx(torch.tensor(heard["curve"]).numpy(), abs=1e-9)
    assert said["errors"] == pytest.approx(heard["errors"], abs=1e-9)


def test_batch_norms_take_their_statistics_over_all_ranks(alone: Found, together: Found) -> None:
    """Weights and running statistics; and a control: norms that look at their own half only end elsewhere."""
    one, other = alone["norms"][0], together["norms"][0]
    assert distance(one, other, "synced.") < 1e-9
    assert distance(one, other, "apart.") > 1e-4


def test_every_rank_draws_runs_of_its_own(few: QM9) -> None:
    drawn = []
    for rank in (0, 1, 0):
        fit = Fit(Settings(limit=20, epochs=1, batch_size=16), few)
        fit.ranks, batch = Ranks(rank, 2), fit.graphs.batch([0, 1, 2])
        drawn.append(fit.model.plan(*inputs(batch), generator=fit._stream("runs")).runs.as_sets())
    assert drawn[0] == drawn[2] != drawn[1]


def test_shares_are_all_of_a_batch() -> None:
    chosen = torch.arange(11)
    shares = [Ranks(rank, 3).share(chosen) for rank in range(3)]
    assert sorted(torch.cat(shares).tolist()) == list(range(11))
    assert sum(Ranks(rank, 3).scale(chosen) for rank in range(3)) == pytest.approx(3)
