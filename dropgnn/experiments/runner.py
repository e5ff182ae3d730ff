"""Running what is missing: on the processes of this machine or on Ray, one by one or, where that is cheaper, together."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any, Generic, NamedTuple, TypeVar

from dropgnn.experiments.store import Store, versions
from dropgnn.training.cluster import spread_on_ray
from dropgnn.training.parallel import Finished, Progress, spread

T = TypeVar("T")
OnEpoch = Callable[[int, float], None]


class Together(NamedTuple, Generic[T]):
    """How trials are run together.

    Args:
        key: Those for which it says the same may be.
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

    Args:
        work: Returns a result that JSON can hold, with its duration as ``seconds``.
        trials: What it is called with. Numbers in the news count them.
        store: Where results are.
        jobs: Processes.
        cluster: With an address, or ``"local"``, the trials run on Ray, one by one: there may be more processors than trials.
        together: How trials are run together, if they are; it is done where that leaves something for every process.
    """
    missing = [number for number, trial in enumerate(trials) if store.get(trial) is None]
    if not missing:
        return
    versions()  # of the code as it is now, not when the first result comes
    groups = [] if together is None or cluster is not None else _groups(missing, trials, together.key)
    tasks: Sequence[Any] = [[trials[number] for number in group] for group in groups]
    task: Callable[..., Any] = work
    if together is not None and len(groups) >= jobs:
        task = together.work
    else:
        groups, tasks = [[number] for number in missing], [trials[number] for number in missing]
    if cluster is None:
        everything: Generator[Progress | Finished[Any]] = spread(task, tasks, jobs=jobs)
    else:
        everything = spread_on_ray(task, tasks, address=cluster, jobs=jobs)
    with closing(everything):  # who stops listening to us stops the trials
        for news in everything:
            group = groups[news.number]
            if isinstance(news, Finished):
                results = [news.result] if task is work else news.result
                for number, result in zip(group, map(dict, results), strict=True):
                    store.put(trials[number], result, seconds=result.pop("seconds", 0.0))
                    yield Finished(number, result)
            else:
                yield from (Progress(number, news.steps) for number in group)


def _groups(numbers: Iterable[int], trials: Sequence[T], key: Callable[[T], Hashable]) -> list[list[int]]:
    """Numbers of trials with equal keys."""
    groups: dict[Hashable, list[int]] = {}
    for number in numbers:
        groups.setdefault(key(trials[number]), []).append(number)
    return list(groups.values())
