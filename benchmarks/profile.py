"""Where a training step of the ``shared`` engine spends its time: ``python -m benchmarks.profile MUTAG``.

Prints milliseconds per step of every stage, on one thread, and the bound that the rows alone set: if every row cost the
same in both engines, ``shared`` could be faster than ``batched`` by that factor at most.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import torch
from rich.console import Console

from benchmarks.run import data_folder
from benchmarks.trainer import Trainer
from benchmarks.workloads import workloads
from dropgnn.nn import DropGNN
from dropgnn.training.loop import inputs


def profile(trainer: Trainer, *, repeats: int) -> tuple[dict[str, float], float]:
    """Seconds per stage, summed over all steps, and the bound by rows."""
    spent: dict[str, float] = defaultdict(float)
    model, bounds = trainer.model, []
    assert isinstance(model, DropGNN)

    def timed(stage: str, work: Callable[[], Any]) -> Any:
        started = time.perf_counter()
        result = work()
        spent[stage] += time.perf_counter() - started
        return result

    def step(batch: Any) -> None:
        plan = timed("draw and plan", lambda: model.plan(*inputs(batch)))
        outcome = timed("forward", lambda: model(*inputs(batch), plan=plan, return_outcome=True))
        loss = timed("loss", lambda: outcome.loss(batch.y, trainer.criterion))
        trainer.optimizer.zero_grad()
        timed("backward", loss.backward)
        timed("optimiser", trainer.optimizer.step)
        bounds.append(plan.rows * len(plan.levels[1:]) / sum(plan.states[1:]))

    for batch in trainer.batches:
        step(batch)
    spent.clear()
    for _ in range(repeats):
        for batch in trainer.batches:
            step(batch)
    steps = repeats * len(trainer.batches)
    return {stage: seconds / steps for stage, seconds in spent.items()}, sum(bounds) / len(bounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workload", help="a name out of the table of make bench")
    options = parser.parse_args()
    console, known = Console(), {workload.name: workload for workload in workloads(data_folder())}
    if options.workload not in known:
        parser.error(f"known workloads are {', '.join(known)}")
    torch.set_num_threads(1)
    spent, bound = profile(Trainer(known[options.workload], "shared", threads=1), repeats=5)
    for stage, seconds in spent.items():
        console.print(f"{stage:<16}{1e3 * seconds:8.2f} ms", highlight=False)
    console.print(f"{'together':<16}{1e3 * sum(spent.values()):8.2f} ms", style="bold", highlight=False)
    console.print(f"rows alone would allow {bound:.1f} times less than batched", highlight=False)


if __name__ == "__main__":
    main()
