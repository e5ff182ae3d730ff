"""Ctrl-C at the right moment."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Processes started in this block ignore Ctrl-C, which reaches all of a terminal; only the parent reacts to it.

    The parent reacts after the block: a mask is a thread's own, and libraries have threads that receive the signal for us.
    Where signals cannot be blocked (Windows), these processes end at Ctrl-C together with the parent.
    """
    with interrupts_deferred():
        if not hasattr(signal, "pthread_sigmask"):
            yield
            return
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Postpone Ctrl-C to the end of the block. Does nothing outside the main thread, which alone receives it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt
