"""Which work is left to torch, what is said of compiling, and what happens without numba or without a folder to write to."""

from __future__ import annotations

import subprocess
import sys
import time
from functools import partial
from threading import Semaphore
from types import SimpleNamespace

import pytest

from dropgnn import compiling

FIRST_EXAMPLE = """
import torch
from torch_geometric.nn import GCN
from dropgnn import Bernoulli, DropGNN

torch.manual_seed(0)
model = DropGNN(GCN(3, 32, 3).double(), Bernoulli(p=0.1, r={r}), generator=torch.Generator().manual_seed(0))
x, edge_index = torch.randn(4, 3).double(), torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
out = model(x, edge_index)
assert torch.allclose(out, DropGNN(model.encoder, model.sampler, engine="batched")(
    x, edge_index, generator=torch.Generator().manual_seed(0)), atol=1e-12)
"""
WITHOUT_NUMBA = "import sys; sys.modules['numba'] = None\n"
WITHOUT_FOLDER = "from numba.core import caching; caching.CacheImpl._locator_classes = []\n"


def run(program: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *options, "-c", program], capture_output=True, text=True, check=True)


def test_small_work_needs_no_compiled_loop() -> None:
    done = run(WITHOUT_NUMBA + FIRST_EXAMPLE.format(r=20), "-W", "error::dropgnn.errors.NotCompiled")
    assert "numba" not in done.stderr


def test_without_numba_larger_work_is_done_by_torch_with_one_remark() -> None:
    done = run(WITHOUT_NUMBA + FIRST_EXAMPLE.format(r=100) + "model(x, edge_index)")
    assert done.stderr.count("numba cannot be imported") == 1


def test_without_numba_verdicts_are_the_same() -> None:
    program = """
from dropgnn.cli.main import app
import sys
sys.argv = ["dropgnn", "distinguish", "figure3:5", "--nodes", "10", "10", "--depth", "2"]
app()
"""
    assert "dropouts of 3 nodes do" in run(WITHOUT_NUMBA + program).stdout


def test_loops_are_compiled_without_a_folder_to_keep_them_in() -> None:
    program = """
import torch
from dropgnn import compiling
from dropgnn.runs.dropped import list_dropped
compiling.SMALL = 0
print(list_dropped(torch.tensor([[True]]), torch.tensor([1]), torch.tensor([1])).tolist(), compiling._REMARK.kept)
"""
    assert run(WITHOUT_FOLDER + program).stdout == "[[0], [0]] False\n"


@pytest.mark.parametrize(("patience", "said"), [(60.0, 0), (0.01, 1)])
def test_compiling_for_long_is_said_once(
    patience: float, said: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compiling, "PATIENCE", patience)
    remark = compiling._Remark()
    for is_start in (True, True, False, False, True, False):
        remark.notify(happening(is_start))
        if said and remark.timer is not None:  # compiling takes until it has run out
            remark.timer.join()
    assert capsys.readouterr().err.count("compiling loops") == said


def test_one_of_several_processes_says_it(capsys: pytest.CaptureFixture[str]) -> None:
    ticket = Semaphore(1)
    for _ in range(2):
        remark = compiling._Remark()
        remark.is_our_turn = partial(ticket.acquire, blocking=False)
        remark.say()
    assert capsys.readouterr().err.count("compiling loops") == 1


def test_nothing_is_said_of_loops_that_are_not_ours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compiling, "PATIENCE", 0.0)
    remark = compiling._Remark()
    remark.notify(happening(True, module="somebody.else"))
    time.sleep(0.05)
    remark.notify(happening(False, module="somebody.else"))
    assert capsys.readouterr().err == ""


def happening(is_start: bool, module: str = "dropgnn.ops.kernels.stack") -> SimpleNamespace:
    """As numba tells it."""
    function = SimpleNamespace(__module__=module)
    return SimpleNamespace(is_start=is_start, data={"dispatcher": SimpleNamespace(py_func=function)})


def test_the_rule_depends_on_sizes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "SMALL", 256)
    assert not compiling.worth_compiling(255)
    assert compiling.worth_compiling(256)
