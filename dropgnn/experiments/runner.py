"""Running what is missing: on the processes of this machine or on Ray, one by one or, where that is cheaper, together."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from dropgnn.experiments.store import Store, versions
from dropgnn.interrupts import interrupts_deferred
from dropgnn.training.cluster import spread_on_ray
from dropgnn.training.parallel import Finished, Progress, raise_failures, spread

T = TypeVar("T")
OnEpoch = Callable[[int, float], None]


ROUNDS = 2
"""Groups there must be for every process, or some would wait for others at the end."""


class Together(NamedTuple, Generic[T]):
    """How trials are run together.

    Args:
        key: Trials with equal keys may be run together.
        work: As for :func:`run_missing`, for several trials and their results.
    """

    key: Callable[[T], Hashable]
    work: Callable[[Sequence[T], OnEpoch | None], Sequence[Mapping[str, Any]]]


def run_missing(
    work: Callable[[T, OnEpoch | None], Mapping[str, Any]],
    trials: Sequence[T],
    store: Store,
    *,
    jobs: int,
    cluster: str | None = None,
    together: Together[T] | None = None,
) -> Generator[Progress | Finished[dict[str, Any]]]:
    """Run the trials that have no result yet, and keep each result as it comes; yields news for a progress bar.

    A trial that fails does not stop the others; it is named at the end.

    Args:
        work: Returns a result that JSON can hold, with its duration as ``seconds``.
        trials: What it is called with. Numbers in the news count them.
        store: Where results are.
        jobs: Processes.
        cluster: With an address, or ``"local"``, the trials run on Ray, one by one: there may be more processors than trials.
        together: How trials are run together, if they are; it is done where that leaves every process enough to do.
    """
    missing = {number: trial for number, trial in enumerate(trials) if store.get(trial) is None}
    if not missing:
        return
    versions()  # of the code as it is now, not when the first result comes
    groups = [] if together is None or cluster is not None else _groups(missing, together.key)
    if len(groups) < ROUNDS * jobs:
        groups, together = [[number] for number in missing], None
    task = partial(_attempt, work, None if together is None else together.work)
    tasks = [[missing[number] for number in group] for group in groups]
    spread_here = spread if cluster is None else partial(spread_on_ray, address=cluster)
    everything = spread_here(task, tasks, jobs=jobs)
    failed: dict[int, Exception] = {}
    with closing(everything):  # who stops listening to us stops the trials
        for news in everything:
            group = groups[news.number]
            if isinstance(news, Progress):
                yield from (Progress(number, news.steps) for number in group)
                continue
            outcomes = dict(zip(group, news.result, strict=True))
            failed |= {number: outcome for number, outcome in outcomes.items() if isinstance(outcome, Exception)}
            done = {number: dict(outcome) for number, outcome in outcomes.items() if number not in failed}  # type: ignore[arg-type]
            with interrupts_deferred():  # all of them, before anyone hears of the first
                for number, result in done.items():
                    store.put(missing[number], result, seconds=result.pop("seconds", 0.0))
            yield from (Finished(number, result) for number, result in done.items())
    raise_failures(failed, missing)


def _groups(trials: Mapping[int, T], key: Callable[[T], Hashable]) -> list[list[int]]:
    """Numbers of trials with equal keys."""
    groups: dict[Hashable, list[int]] = {}
    for number, trial in trials.items():
        groups.setdefault(key(trial), []).append(number)
    return list(groups.values())


def _attempt(
    work: Callable[[T, OnEpoch | None], Mapping[str, Any]],
    together: Callable[[Sequence[T], OnEpoch | None], Sequence[Mapping[str, Any]]] | None,
    trials: Sequence[T],
    on_epoch: OnEpoch | None,
) -> Sequence[Mapping[str, Any] | Exception]:
    """For every trial its result, or why there is none. Where they fail together, each is given a chance of its own."""
    if together is not None and len(trials) > 1:
        with suppress(Exception):
            return together(trials, on_epoch)
    return [_attempt_one(work, trial, on_epoch) for trial in trials]


def _attempt_one(
    work: Callable[[T, OnEpoch | None], Mapping[str, Any]], trial: T, on_epoch: OnEpoch | None
) -> Mapping[str, Any] | Exception:
    try:
        return work(trial, on_epoch)
    except Exception as problem:
        return problem
