"""``make bench``: plain GNN, all copies computed, equal rows shared. Contestants alternate; only ratios mean anything.

Writes ``benchmarks/results.json`` and ``benchmarks/results.svg``.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
from pathlib import Path
from statistics import median
from typing import Any

import torch
from matplotlib.figure import Figure
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.workloads import CONTESTANTS, Trainer, Workload, cubic, workloads
from dropgnn.nn import GIN, DropGNN
from dropgnn.runs.samplers import Exhaustive

FOLDER = Path(__file__).parent
SIZES = (1_000, 10_000, 100_000)


def measure(workload: Workload, *, repeats: int, steps: int) -> dict[str, Any]:
    """Milliseconds per training step, the median over repeats, contestants alternating; and peak memory of each."""
    trainers = {name: Trainer(workload, name, steps) for name in CONTESTANTS}
    times: dict[str, list[float]] = {name: [] for name in CONTESTANTS}
    for trainer in trainers.values():
        trainer.train()  # warm up
    for _ in range(repeats):
        for name, trainer in trainers.items():
            started = time.perf_counter()
            trainer.train()
            times[name].append(1e3 * (time.perf_counter() - started) / steps)
    step = {name: median(values) for name, values in times.items()}
    memory = {name: _in_a_process_of_its_own(workload.name, name) for name in CONTESTANTS}
    return {
        "workload": workload.name,
        "milliseconds": step,
        "batched / shared": step["batched"] / step["shared"],
        "shared / plain": step["shared"] / step["plain"],
        "megabytes": memory,
    }


def measure_growth(*, repeats: int) -> list[dict[str, float]]:
    """Exhaustive 1-dropouts of one random 3-regular multigraph, scope neighborhood, two layers: time per node as it grows."""
    rows = []
    for nodes in SIZES:
        data = cubic(nodes)
        model = DropGNN(GIN(1, 16, 2), Exhaustive(0.1, k=1, scope="neighborhood", hops=2), engine="shared")
        times = []
        for _ in range(repeats + 1):
            started = time.perf_counter()
            model(data.x, data.edge_index).sum().backward()
            times.append(time.perf_counter() - started)
        rows.append({"nodes": nodes, "microseconds per node": 1e6 * median(times[1:]) / nodes})
    return rows


def _in_a_process_of_its_own(workload: str, contestant: str) -> float:
    """Peak memory of three training steps above what was there before them, in megabytes."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return float(pool.apply(_peak, (workload, contestant)))


def _peak(workload: str, contestant: str) -> float:
    (chosen,) = [item for item in workloads(_data()) if item.name == workload]
    trainer = Trainer(chosen, contestant, steps=1)
    trainer.train()  # compiled code and optimiser state are there for good
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far (Linux)
    before = _status("VmRSS")
    for _ in range(3):
        trainer.train()
    return (_status("VmHWM") - before) / 1024


def _status(field: str) -> int:
    """A field of this process' status, in kilobytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


def _data() -> Path | None:
    given = os.environ.get("DROPGNN_DATA")
    return Path(given) if given else None


def show(results: list[dict[str, Any]], growth: list[dict[str, float]], console: Console) -> None:
    table = Table(box=box.SIMPLE_HEAD, title="Milliseconds per training step, planning included", title_justify="left")
    for heading in ("workload", *CONTESTANTS, "batched/shared", "shared/plain", "MB batched", "MB shared"):
        table.add_column(heading, justify="left" if heading == "workload" else "right", no_wrap=heading == "workload")
    for row in results:
        step, memory = row["milliseconds"], row["megabytes"]
        numbers = [f"{step[name]:.1f}" for name in CONTESTANTS]
        ratios = [f"{row['batched / shared']:.1f}", f"{row['shared / plain']:.1f}"]
        table.add_row(row["workload"], *numbers, *ratios, f"{memory['batched']:.0f}", f"{memory['shared']:.0f}")
    console.print(table)
    for row in growth:
        console.print(f"3-regular, {row['nodes']:>7,} nodes: {row['microseconds per node']:.1f} microseconds per node")


def plot(results: list[dict[str, Any]]) -> Figure:
    figure = Figure(figsize=(9, 0.55 * len(results) + 1.4))
    ax = figure.subplots()
    places = range(len(results))
    for offset, (name, colour) in enumerate(zip(CONTESTANTS, ("#9aa5b1", "#2b6ca3", "#c8502d"), strict=True)):
        values = [row["milliseconds"][name] / row["milliseconds"]["plain"] for row in results]
        ax.barh([place + 0.27 * (offset - 1) for place in places], values, 0.25, color=colour, label=name)
        for place, value in zip(places, values, strict=True):
            ax.text(value, place + 0.27 * (offset - 1), f" {value:.1f}", va="center", fontsize=8, color=colour)
    ax.set_yticks(list(places), [row["workload"] for row in results])
    ax.invert_yaxis()
    ax.set_xlabel("time of a training step, in steps of the plain GNN (one run)")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="lower right")
    figure.tight_layout()
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--steps", type=int, default=10)
    options = parser.parse_args()
    console = Console()
    listed = workloads(_data())
    results = [
        measure(workload, repeats=options.repeats, steps=options.steps)
        for workload in track(listed, description="workloads", console=console)
    ]
    growth = measure_growth(repeats=3)
    show(results, growth, console)
    versions = {"torch": torch.__version__, "threads": "plain, batched: 2; shared: 1, and 1 planning"}
    text = json.dumps({"versions": versions, "steps": results, "growth": growth}, indent=2)
    (FOLDER / "results.json").write_text(text + "\n", encoding="utf-8")
    plot(results).savefig(FOLDER / "results.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
