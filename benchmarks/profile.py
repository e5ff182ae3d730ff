"""Where a training step of the ``shared`` engine spends its time: ``python -m benchmarks.profile MUTAG``.

Prints milliseconds per step of every stage; then, of the same step, the work proper: the compiled loops of planning, of the
layers and of pooling, which hold all matrix products. What is left is the calls between them. And two estimates. If every row
cost the same in both engines and nothing else cost anything, ``shared`` would be faster than ``batched`` by the first factor.
But a step also has costs that do not depend on its rows, about those of a plain GNN: with these, and planning for free, the
second factor is left.

With ``--threads 2`` random runs are planned on the second thread while torch has the first, as in the benchmark: the step then
waits only for what of the plan is not there yet.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import torch
from rich.console import Console

from benchmarks.run import data_folder, measure
from benchmarks.trainer import Trainer
from benchmarks.workloads import workloads
from dropgnn.engine.rules import gin
from dropgnn.nn import GIN, DropGNN
from dropgnn.ops import numba_ops
from dropgnn.ops.kernels import products
from dropgnn.training.loop import inputs


def profile(trainer: Trainer, *, repeats: int) -> tuple[dict[str, float], float]:
    """Seconds per stage, summed over all steps, and the bound by rows."""
    spent: dict[str, float] = defaultdict(float)
    model, bounds = trainer.model, []
    assert isinstance(model, DropGNN)

    def timed(stage: str, work: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        started = time.perf_counter()
        result = work(*arguments, **named)
        spent[stage] += time.perf_counter() - started
        return result

    planning = "waiting for a plan" if trainer.plans_ahead else "plan"

    def train() -> None:
        ready = iter(trainer.ready(model, planned=True))
        while (item := timed(planning, next, ready, None)) is not None:
            batch, arguments = item
            outcome = timed("forward", model, *inputs(batch), return_outcome=True, **arguments)
            loss = timed("loss", outcome.loss, batch.y, trainer.criterion)
            trainer.optimizer.zero_grad()
            timed("backward", loss.backward)
            timed("optimiser", trainer.optimizer.step)
            plan = arguments["plan"]
            bounds.append(plan.rows * len(plan.levels[1:]) / sum(plan.states[1:]))

    train()  # warm up
    spent.clear()
    for _ in range(repeats):
        train()
    steps = repeats * len(trainer.batches)
    return {stage: seconds / steps for stage, seconds in spent.items()}, sum(bounds) / len(bounds)


class Loops:
    """Seconds in compiled loops, by what they are for, while it is entered."""

    PLACES = (
        (numba_ops, "planning", ("colour_rows", "group", "refine", "weigh", "cut_pairs", "cut_states")),
        (
            gin,
            "layers",
            ("hear", "hear_mapped", "hear_mapped_back", "map_heard", "map_back", "finish", "finish_back"),
        ),
        (products, "pooling", ("count_states", "pool", "pool_back", "average_copies", "average_copies_back")),
    )

    def __enter__(self) -> dict[str, float]:
        self.spent: dict[str, float] = defaultdict(float)
        self.patches = ExitStack()
        for module, purpose, names in self.PLACES:
            for name in names:
                timed = self._timed(getattr(module, name), purpose)
                self.patches.enter_context(patch.object(module, name, timed))
        return self.spent

    def __exit__(self, *_: object) -> None:
        self.patches.close()

    def _timed(self, function: Callable[..., Any], purpose: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            started = time.perf_counter()
            try:
                return function(*arguments)
            finally:
                self.spent[purpose] += time.perf_counter() - started

        return call


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workload", help="a name out of the table of make bench")
    parser.add_argument("--threads", type=int, choices=(1, 2), default=1)
    options = parser.parse_args()
    console, known = Console(), {workload.name: workload for workload in workloads(data_folder())}
    if options.workload not in known:
        parser.error(f"known workloads are {', '.join(known)}")
    workload = known[options.workload]
    trainer = Trainer(workload, "shared", threads=options.threads)
    torch.set_num_threads(trainer.torch_threads)
    spent, bound = profile(trainer, repeats=5)
    _print(console, "stages of a step", spent)
    if isinstance(trainer.model.encoder, GIN):
        with Loops() as loops:
            profile(trainer, repeats=5)
        steps = 6 * len(trainer.batches)  # the first round counts, too
        work = {f"loops of {purpose}": seconds / steps for purpose, seconds in loops.items()}
        _print(console, "the work proper", work)
    measured = measure(workload, repeats=5, threads=options.threads)
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


def _print(console: Console, title: str, spent: dict[str, float]) -> None:
    for name, seconds in spent.items():
        console.print(f"{name:<30}{1e3 * seconds:8.2f} ms", highlight=False)
    console.print(f"{title + ', together':<30}{1e3 * sum(spent.values()):8.2f} ms\n", style="bold", highlight=False)


if __name__ == "__main__":
    main()
