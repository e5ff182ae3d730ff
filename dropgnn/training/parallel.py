"""Independent trials on several processes, one thread each, with news of their progress."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from queue import Empty
from typing import Generic, Protocol, TypeVar

import torch

from dropgnn import compiling
from dropgnn.errors import TrialsFailed
from dropgnn.interrupts import interrupts_held

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
    def wait(self) -> bool: ...


class _Ticket(Protocol):
    def acquire(self, block: bool = True) -> bool: ...


_news: _Channel | None = None
"""Where a worker process reports its progress; set once per process."""

REPORT_EVERY = 10


def spread(
    work: Callable[[T, Callable[[int, float], None]], R], trials: Sequence[T], *, jobs: int
) -> Generator[Progress | Finished[R]]:
    """Run ``work(trial, on_epoch)`` for every trial on ``jobs`` processes, and yield news as it comes.

    Results do not depend on ``jobs``: every process computes with one thread. A trial that fails does not stop the others; it is
    named at the end. If the caller stops iterating, or is killed, the processes end, too.
    """
    context = multiprocessing.get_context("spawn")
    news, stop, ticket = context.Queue(), context.Event(), context.Semaphore(1)
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin, initargs=(news, stop, ticket))
    failed: dict[int, BaseException] = {}
    try:
        with interrupts_held():
            running = {pool.submit(_run, work, number, trial): number for number, trial in enumerate(trials)}
        while running:
            done, _ = wait(running, timeout=0.1, return_when=FIRST_COMPLETED)
            yield from _drain(news)
            for future in done:
                number, problem = running.pop(future), future.exception()
                if problem is None:
                    yield Finished(number, future.result())
                else:
                    failed[number] = problem
    except BaseException:
        stop.set()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    raise_failures(failed, trials)


def raise_failures(failed: Mapping[int, BaseException], trials: Sequence[object] | Mapping[int, object]) -> None:
    """Say which trials failed, by their numbers, and why the first of them did."""
    if failed:
        number, problem = next(iter(failed.items()))
        raise TrialsFailed(
            f"{len(failed)} of {len(trials)} trials failed; the others are done. The first was {trials[number]}: "
            f"{type(problem).__name__}: {problem}"
        ) from problem


def _begin(news: _Channel, stop: _Flag, ticket: _Ticket) -> None:
    global _news
    _news = news
    compiling.say_if(partial(ticket.acquire, block=False))
    for end in (stop.wait, _wait_for_parent):  # what is in flight then is lost in any case
        threading.Thread(target=_exit_after, args=(end,), daemon=True).start()
    torch.set_num_threads(1)


def _exit_after(end: Callable[[], object]) -> None:
    end()
    os._exit(1)


def _wait_for_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None  # only processes that were started here call this
    parent.join()


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
