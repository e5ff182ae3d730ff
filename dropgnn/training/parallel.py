"""Independent trials on several processes, one thread each, with news of their progress."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass
from queue import Empty
from typing import Generic, Protocol, TypeVar

import torch

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Progress:
    """Trial ``number`` has done ``steps`` more steps."""

    number: int
    steps: int


@dataclass(frozen=True)
class Finished(Generic[R]):
    """Trial ``number`` is done."""

    number: int
    result: R


class _Channel(Protocol):
    def put(self, item: Progress) -> None: ...


_news: _Channel | None = None
"""Where a worker process reports its progress; set once per process."""

REPORT_EVERY = 10


def spread(
    work: Callable[[T, Callable[[int, float], None]], R], trials: Sequence[T], *, jobs: int
) -> Iterator[Progress | Finished[R]]:
    """Run ``work(trial, on_epoch)`` for every trial on ``jobs`` processes, and yield news as it comes.

    Results do not depend on ``jobs``: every process computes with one thread.
    """
    context = multiprocessing.get_context("spawn")
    news = context.Queue()
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin, initargs=(news,))
    try:
        running = {pool.submit(_run, work, number, trial): number for number, trial in enumerate(trials)}
        while running:
            done, _ = wait(running, timeout=0.1, return_when=FIRST_COMPLETED)
            yield from _drain(news)
            for future in done:
                yield Finished(running.pop(future), future.result())
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _begin(news: _Channel) -> None:
    global _news
    _news = news
    torch.set_num_threads(1)


def _run(work: Callable[[T, Callable[[int, float], None]], R], number: int, trial: T) -> R:
    def on_epoch(epoch: int, loss: float) -> None:
        if epoch % REPORT_EVERY == 0 and _news is not None:
            _news.put(Progress(number, REPORT_EVERY))

    return work(trial, on_epoch)


def _drain(news: multiprocessing.Queue) -> Iterator[Progress]:
    while True:
        try:
            yield news.get_nowait()
        except Empty:
            return
