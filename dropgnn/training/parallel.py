"""Independent trials on several processes, one thread each, with news of their progress."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
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


class _Flag(Protocol):
    def is_set(self) -> bool: ...


class Stopped(Exception):
    """A trial was given up because nobody waits for it any more."""


_news: _Channel | None = None
"""Where a worker process reports its progress; set once per process."""

_stop: _Flag | None = None
"""Whether a worker process shall give up; set once per process."""

REPORT_EVERY = 10


def spread(
    work: Callable[[T, Callable[[int, float], None]], R], trials: Sequence[T], *, jobs: int
) -> Generator[Progress | Finished[R]]:
    """Run ``work(trial, on_epoch)`` for every trial on ``jobs`` processes, and yield news as it comes.

    Results do not depend on ``jobs``: every process computes with one thread. Who stops listening, by Ctrl-C or otherwise,
    stops the trials in flight at their next report; who is killed takes the processes along.
    """
    context = multiprocessing.get_context("spawn")
    news, stop = context.Queue(), context.Event()
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin, initargs=(news, stop))
    try:
        running = {pool.submit(_run, work, number, trial): number for number, trial in enumerate(trials)}
        while running:
            done, _ = wait(running, timeout=0.1, return_when=FIRST_COMPLETED)
            yield from _drain(news)
            for future in done:
                yield Finished(running.pop(future), future.result())
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


def _begin(news: _Channel, stop: _Flag) -> None:
    global _news, _stop
    _news, _stop = news, stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process of a terminal; the first one decides
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(1)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _run(work: Callable[[T, Callable[[int, float], None]], R], number: int, trial: T) -> R:
    def on_epoch(epoch: int, loss: float) -> None:
        if epoch % REPORT_EVERY == 0 and _news is not None:
            _news.put(Progress(number, REPORT_EVERY))
            if _stop is not None and _stop.is_set():
                raise Stopped

    return work(trial, on_epoch)


def _drain(news: multiprocessing.Queue) -> Iterator[Progress]:
    while True:
        try:
            yield news.get_nowait()
        except Empty:
            return
