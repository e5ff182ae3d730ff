"""``make bench``: plain GNN, all copies computed, equal rows shared. Contestants alternate; only ratios mean anything.

Writes ``benchmarks/results.json`` and ``benchmarks/results.svg``.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import torch
from rich.console import Console
from rich.progress import track

from benchmarks.epochs import every_dataset, measure_epochs
from benchmarks.graphs import cubic
from benchmarks.qm9 import measure_qm9
from benchmarks.show import plot, show
from benchmarks.trainer import Trainer
from benchmarks.workloads import Workload, workloads
from dropgnn.data.synthetic import SYNTHETIC, task
from dropgnn.experiments.store import versions
from dropgnn.nn import GIN, DropGNN
from dropgnn.runs.samplers import Exhaustive
from dropgnn.testing import peak_megabytes

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results.json"
SIZES = (1_000, 10_000, 100_000)


def measure(workload: Workload, *, repeats: int, threads: int) -> dict[str, Any]:
    """Milliseconds per training step, the median over repeats, contestants alternating."""
    trainers = {name: Trainer(workload, name, threads=threads) for name in workload.contestants}
    times: dict[str, list[float]] = {name: [] for name in workload.contestants}
    for trainer in trainers.values():
        trainer.train()  # warm up
    gc.collect()
    gc.freeze()  # or the garbage collector visits all of torch now and then, on one contestant's account
    for _ in range(repeats):
        for name, trainer in trainers.items():
            started = time.perf_counter()
            trainer.train()
            times[name].append(1e3 * (time.perf_counter() - started) / workload.steps)
    step = {name: median(values) for name, values in times.items()}
    return {
        "workload": workload.name,
        "threads": threads,
        "milliseconds": step,
        "batched / shared": step["batched"] / step["shared"] if "batched" in step else None,
        "shared / plain": step["shared"] / step["plain"],
        "goal": workload.goal,
        "bound": trainers["shared"].bound(),
    }


def measure_memory(workload: Workload) -> dict[str, float]:
    """Peak megabytes of every contestant, each in a process of its own."""
    context = multiprocessing.get_context("spawn")
    found = {}
    for name in workload.contestants:
        with context.Pool(1) as pool:
            found[name] = float(pool.apply(_peak, (workload.name, name)))
    return found


def _peak(workload: str, contestant: str) -> float:
    """Peak memory of three training steps above what was there before them, in megabytes."""
    (chosen,) = [item for item in workloads(data_folder()) if item.name == workload]
    trainer = Trainer(chosen, contestant, threads=1)
    trainer.train()  # compiled code and optimiser state are there for good
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what was freed goes back, or it would not count when it is taken again (glibc)

    def train() -> None:
        for _ in range(3):
            trainer.train()

    return peak_megabytes(train)


def measure_growth(*, repeats: int) -> list[dict[str, Any]]:
    """Exhaustive 1-dropouts of one random 3-regular multigraph, scope neighborhood, two layers: time per node as it grows.

    Nodes that look alike have few states; nodes that all look different are the other extreme.
    """
    torch.set_num_threads(1)
    rows = []
    for features, nodes in product(("alike", "different"), SIZES):
        data = cubic(nodes)
        x = data.x if features == "alike" else torch.rand(nodes, 1, generator=torch.Generator().manual_seed(0))
        model = DropGNN(GIN(1, 16, 2), Exhaustive(0.1, k=1, scope="neighborhood", hops=2), engine="shared")
        optimizer = torch.optim.Adam(model.parameters(), fused=True)
        times = []
        for _ in range(repeats + 1):
            started = time.perf_counter()
            optimizer.zero_grad()
            model(x, data.edge_index).sum().backward()
            optimizer.step()
            times.append(time.perf_counter() - started)
        microseconds = 1e6 * median(times[1:]) / nodes
        rows.append({"features": features, "nodes": nodes, "microseconds per node": microseconds})
    return rows


def measure_tasks(*, seeds: int) -> dict[str, float]:
    """Seconds to generate each synthetic task, the slowest of some seeds."""
    found = {}
    for name in SYNTHETIC:
        times = []
        for seed in range(seeds):
            started = time.perf_counter()
            task(name, seed)
            times.append(time.perf_counter() - started)
        found[name] = max(times)
    return found


def data_folder() -> Path | None:
    given = os.environ.get("DROPGNN_DATA")
    return Path(given) if given else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--only", help="measure steps of workloads whose name contains this, and write nothing")
    parser.add_argument(
        "--part",
        choices=("steps", "epochs", "megabytes", "growth", "tasks", "qm9"),
        help="measure this part, keep the rest",
    )
    options = parser.parse_args()
    console = Console()
    chosen = [
        workload for workload in workloads(data_folder()) if options.only is None or options.only in workload.name
    ]
    if options.only is not None:
        show({"steps": list(_steps(chosen, options.repeats, console))}, console)
        return
    if data_folder() is None:
        console.print("DROPGNN_DATA is not set: workloads on real data are left out, and nothing is written")
    parts: dict[str, Callable[[], Any]] = {
        "steps": lambda: list(_steps(chosen, options.repeats, console)),
        "epochs": lambda: [
            measure_epochs(name, data_folder(), repeats=options.repeats)
            for name in track(every_dataset(data_folder()), "epochs", console=console)
        ],
        "megabytes": lambda: {item.name: measure_memory(item) for item in track(chosen, "memory", console=console)},
        "growth": lambda: measure_growth(repeats=5),
        "tasks": lambda: measure_tasks(seeds=10),
        "qm9": lambda: measure_qm9(console),
    }
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() and data_folder() is not None else {}
    for name in parts if options.part is None else (options.part,):
        results[name] = parts[name]()
        results.setdefault("measured", {})[name] = {"on": datetime.now(UTC).date().isoformat()} | versions()
        if data_folder() is not None:
            RESULTS.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    show(results, console)
    if data_folder() is not None and {"steps", "growth"} <= results.keys():
        plot(results).savefig(FOLDER / "results.svg", metadata={"Date": None})


def _steps(chosen: list[Workload], repeats: int, console: Console) -> Iterator[dict[str, Any]]:
    jobs = [(workload, threads) for threads in (1, 2) for workload in chosen]
    for workload, threads in track(jobs, "steps", console=console):
        yield measure(workload, repeats=min(repeats, 3) if workload.steps == 1 else repeats, threads=threads)


if __name__ == "__main__":
    main()
