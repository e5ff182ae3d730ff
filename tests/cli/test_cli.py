"""The commands as a user runs them: real processes, real terminal output."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def dropgnn(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from dropgnn.cli.main import app; app()", *arguments]
    settings = os.environ | {"COLUMNS": "80", "OMP_NUM_THREADS": "1"} | environment
    return subprocess.run(command, capture_output=True, text=True, env=settings, check=False, timeout=300)


def test_help_lists_the_commands() -> None:
    shown = dropgnn("--help")
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


def test_plan_for_a_real_dataset(data_root: Path) -> None:
    shown = dropgnn("plan", "MUTAG", "--hops", "4", DROPGNN_DATA=str(data_root))
    assert shown.returncode == 0
    assert "3,371 nodes" in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["plan", "atlantis"], "error: no dataset 'atlantis' found; pass --data DIR or set DROPGNN_DATA"),
        (["plan", "none.g6"], "error: there is no file none.g6"),
        (["plan", "lcc", "--delta", "2"], "error: 'delta' must lie in (0, 1] (got 2.0)"),
        (["plan", "lcc", "--hops", "0"], "Invalid value for '--hops'"),
        (["plan", "lcc", "--reduce", "median"], "Invalid value for '--reduce'"),
        (["demo", "--output", "no/such/folder/demo.html"], "error: 'output' must be a file in an existing folder"),
        (["demo", "--seeds", "0"], "Invalid value for '--seeds'"),
    ],
)
def test_mistakes_get_a_sentence_and_status_2(arguments: list[str], message: str) -> None:
    shown = dropgnn(*arguments)
    assert shown.returncode == 2
    assert message in " ".join(shown.stderr.split())
    assert "Traceback" not in shown.stderr


def test_demo_with_one_seed(tmp_path: Path) -> None:
    output = tmp_path / "demo.html"
    shown = dropgnn("demo", "--seeds", "1", "--output", str(output))
    assert shown.returncode == 0, shown.stderr
    assert "GIN                    0.50 ± 0.00   0.50 ± 0.00   0.50 ± 0.00   0.50 ± 0.00" in shown.stdout
    assert "GIN + dropout          1.00 ± 0.00   1.00 ± 0.00" in shown.stdout
    page = output.read_text()
    assert page.count("<svg") == 3
    assert page.count("<tr") == 6
