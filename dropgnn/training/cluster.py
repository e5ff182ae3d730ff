"""The same trials on Ray: on this machine, or on a cluster that is there already (extra ``cluster``)."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TypeVar

import torch

from dropgnn.errors import MissingExtra
from dropgnn.training.address import LOCAL, check_address, no_answer
from dropgnn.training.parallel import Finished, Progress, raise_failures

T = TypeVar("T")
R = TypeVar("R")


def spread_on_ray(
    work: Callable[[T, None], R], trials: Sequence[T], *, address: str, jobs: int
) -> Generator[Progress | Finished[R]]:
    """Run ``work(trial, None)`` for every trial as a Ray task with one core and one thread.

    Args:
        work: A function that the machines of the cluster can import.
        trials: What it is called with.
        address: ``"local"`` starts Ray here with ``jobs`` cores; anything else is an address Ray knows, such as ``"auto"``.
        jobs: Cores to use where Ray is started here.
    """
    try:
        import ray
    except ImportError as problem:
        raise MissingExtra("Ray", "cluster") from problem
    if address == LOCAL:
        ray.init(num_cpus=jobs, include_dashboard=False, log_to_driver=False)
    else:
        check_address(address)
        try:
            ray.init(address=address, log_to_driver=False)
        except (OSError, ValueError, RuntimeError, ImportError) as problem:
            raise no_answer(address, problem) from problem
    try:
        remote = ray.remote(num_cpus=1)(_run)
        running = {remote.remote(work, trial): number for number, trial in enumerate(trials)}
        failed: dict[int, BaseException] = {}
        while running:
            (ready, *_), _ = ray.wait(list(running), num_returns=1)
            number = running.pop(ready)
            try:
                result = ray.get(ready)
            except ray.exceptions.RayError as problem:
                failed[number] = problem
            else:
                yield Finished(number, result)
        raise_failures(failed, trials)
    finally:
        ray.shutdown()


def _run(work: Callable[[T, None], R], trial: T) -> R:
    torch.set_num_threads(1)
    return work(trial, None)
