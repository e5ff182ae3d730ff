"""How the cost of training on QM9 grows with molecules, runs and processes: ``python -m benchmarks.scaling``.

Writes ``benchmarks/scaling.json``. Under torchrun it is one of the processes that are measured, one thread each.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import torch
from rich import box
from rich.console import Console
from rich.table import Table

from dropgnn.data.qm9.dataset import QM9
from dropgnn.molecules.fitting import Fit
from dropgnn.molecules.models import Settings
from dropgnn.runs.samplers import Bernoulli
from dropgnn.training.distributed import ALONE, Ranks, joined
from dropgnn.training.presets import PRESETS

RESULTS = Path(__file__).with_name("scaling.json")
RUNS = (1, 9, 18, 36)
SIZES = (2_000, 20_000, 130_000)
STEPS, REPEATS = {"1-gnn": 6, "mpnn": 3}, 3
WHOLE = 104_665
"""Molecules to train on in all of QM9."""


def rate(model: str, runs: int, molecules: int, qm9: QM9, ranks: Ranks) -> float:
    """Molecules trained on in a second, the median over some repeats of some steps."""
    settings = Settings(model, "random" if runs else "none", limit=molecules, epochs=1)
    fit = Fit(settings, qm9, ranks=ranks)
    if runs:
        fit.model.sampler = Bernoulli(PRESETS["paper"].p_real(fit.m), runs)
    batches, times = fit.split.train.split(fit.batch_size), []
    with ranks.together(fit.model) as called:
        for number in range(REPEATS + 1):
            started = time.perf_counter()
            for step in range(STEPS[model]):
                fit.take_step(called, batches[(number * STEPS[model] + step) % (len(batches) - 1)])
            times.append(time.perf_counter() - started)
    return STEPS[model] * fit.batch_size / median(times[1:])


def measure(ranks: Ranks) -> list[dict[str, Any]]:
    """By runs with few molecules, then by molecules with the paper's 18 runs."""
    qm9 = QM9.load()
    cases = [(model, runs, SIZES[0]) for model in STEPS for runs in (0, *RUNS)]
    cases += [("1-gnn", 18, size) for size in SIZES[1:] if ranks.world == 1]
    return [
        {"model": model, "runs": runs, "molecules": size, "processes": ranks.world, "rate": rate(model, runs, size, qm9, ranks)}
        for model, runs, size in cases
    ]  # fmt: skip


def show(found: list[dict[str, Any]], console: Console) -> None:
    table = Table(box=box.SIMPLE_HEAD, title="Training on QM9", title_justify="left")
    for heading in ("model", "runs", "molecules", "processes", "molecules / s", "one epoch of all"):
        table.add_column(heading, justify="left" if heading == "model" else "right")
    for one in found:
        hours = WHOLE / one["rate"] / 3600
        table.add_row(
            one["model"], str(one["runs"]), f"{one['molecules']:,}", str(one["processes"]), f"{one['rate']:.0f}", f"{hours:.2f} h"
        )  # fmt: skip
    console.print(table)
    console.print("runs 0: the model without dropouts; one epoch of all: extrapolated", highlight=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=2, help="measure one process, and so many together")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if "WORLD_SIZE" in os.environ:
        with joined() as ranks:
            found = measure(ranks)
            if ranks.first:
                print(json.dumps(found))
        return
    together = [
        "-m",
        "torch.distributed.run",
        "--standalone",
        f"--nproc-per-node={options.processes}",
        "--module",
        "benchmarks.scaling",
    ]
    found = measure(ALONE)
    done = subprocess.run(
        [sys.executable, *together], env=os.environ | {"OMP_NUM_THREADS": "1"}, stdout=subprocess.PIPE, text=True, check=True
    )  # fmt: skip
    found += json.loads(done.stdout.splitlines()[-1])
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    show(found, Console())


if __name__ == "__main__":
    main()
