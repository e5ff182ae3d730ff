"""Where a training step of the ``shared`` engine spends its time: ``python -m benchmarks.profile MUTAG``.

Prints milliseconds per step of every stage, on one thread, and two bounds. If every row cost the same in both engines and
nothing else cost anything, ``shared`` could be faster than ``batched`` by the first factor at most. But a step also has costs
that do not depend on its rows, about those of a plain GNN: with these, and planning for free, the second factor is left.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import torch
from rich.console import Console

from benchmarks.run import data_folder, measure
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

    def step(number: int) -> None:
        batch = trainer.batches[number]
        plan = timed("plan", lambda: trainer.plan(number))
        outcome = timed("forward", lambda: model(*inputs(batch), plan=plan, return_outcome=True))
        loss = timed("loss", lambda: outcome.loss(batch.y, trainer.criterion))
        trainer.optimizer.zero_grad()
        timed("backward", loss.backward)
        timed("optimiser", trainer.optimizer.step)
        bounds.append(plan.rows * len(plan.levels[1:]) / sum(plan.states[1:]))

    for number in range(len(trainer.batches)):
        step(number)
    spent.clear()
    for _ in range(repeats):
        for number in range(len(trainer.batches)):
            step(number)
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
    workload = known[options.workload]
    spent, bound = profile(Trainer(workload, "shared", threads=1), repeats=5)
    for stage, seconds in spent.items():
        console.print(f"{stage:<16}{1e3 * seconds:8.2f} ms", highlight=False)
    console.print(f"{'together':<16}{1e3 * sum(spent.values()):8.2f} ms", style="bold", highlight=False)
    measured = measure(workload, repeats=5, threads=1)
    step = measured["milliseconds"]
    least = step["plain"] + (step["batched"] - step["plain"]) / bound
    console.print(
        f"a step: plain {step['plain']:.1f}, batched {step['batched']:.1f}, shared {step['shared']:.1f} ms, "
        f"{measured['batched / shared']:.1f} times less than batched and {measured['shared / plain']:.1f} times plain\n"
        f"rows alone would allow {bound:.1f} times less than batched; with the costs of a plain step beside them, and planning "
        f"for free, {step['batched'] / least:.1f} times less and {least / step['plain']:.1f} times plain",
        highlight=False,
        soft_wrap=True,
    )


if __name__ == "__main__":
    main()
