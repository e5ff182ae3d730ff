"""Compiled loops: numba where it can be imported, and where there is enough work to be worth compiling for.

A loop is compiled at its first call and kept on disk, beside the package or in the user's cache folder. Compiling all loops of a
training takes some twenty seconds, once; small work is faster done by torch.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from functools import cache, wraps
from threading import Timer
from typing import Any

import numpy as np

from dropgnn.errors import NotCompiled

try:
    import numba
    from numba.core import event
except (ImportError, OSError) as problem:  # not installed, or one of its libraries cannot be loaded
    numba, _MISSING = None, str(problem)

SMALL = 256
"""Work below this, in rows of all copies together, is left to torch, so that results depend on sizes alone."""

PATIENCE = 2.0
"""Seconds of compiling after which there is a remark."""


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorator: numba compiles the function at its first call, with these options of ``numba.njit``; without numba it stays
    as it is."""

    def decorate(function: Callable[..., Any]) -> Any:
        if numba is None:
            return _wrapping_around(function)
        try:
            return numba.njit(cache=True, nogil=True, **options)(function)
        except RuntimeError:  # neither the package's folder nor the user's cache can be written
            _REMARK.kept = False
            return numba.njit(nogil=True, **options)(function)

    return decorate


def worth_compiling(work: int) -> bool:
    """Whether compiled loops are the way for so many rows; a rule of sizes only."""
    if work >= SMALL and numba is None:
        _say_missing()
    return work >= SMALL and numba is not None


def _wrapping_around(function: Callable[..., Any]) -> Any:
    """Words of 64 bits are meant to overflow; numpy warns of it, compiled loops do not."""

    @wraps(function)
    def call(*arguments: Any) -> Any:
        with np.errstate(over="ignore"):
            return function(*arguments)

    return call


@cache
def _say_missing() -> None:
    """Once in a process."""
    warnings.warn(
        f"numba cannot be imported ({_MISSING}): torch computes what compiled loops would, with the same results up to rounding "
        "but more slowly; pip install numba",
        NotCompiled,
        stacklevel=3,
    )


class _Remark:
    """Says once that loops are being compiled, when that takes longer than a user would wait without asking."""

    def __init__(self) -> None:
        self.spent, self.depth, self.since = 0.0, 0, 0.0
        self.timer: Timer | None = None
        self.kept = True
        """Whether there is a folder to keep compiled loops in."""
        self.is_our_turn: Callable[[], bool] = lambda: True
        """Whether this process is to say it; of several that work together one does."""

    def notify(self, happening: Any) -> None:
        """Numba calls this when it begins to compile a function, and when it is done."""
        if happening.is_start:
            self._start(happening)
        else:
            self._end()

    def _start(self, happening: Any) -> None:
        self.depth += 1
        if self.depth == 1 and self.spent < PATIENCE and _is_ours(happening):
            self.since = time.monotonic()
            self.timer = Timer(PATIENCE - self.spent, self.say)
            self.timer.daemon = True
            self.timer.start()

    def _end(self) -> None:
        self.depth -= 1
        if self.depth == 0 and self.timer is not None:
            self.timer.cancel()
            self.timer = None
            self.spent += time.monotonic() - self.since

    def say(self) -> None:
        self.spent = PATIENCE
        if not self.is_our_turn():
            return
        often = "once" if self.kept else "in every process: no folder can be written to keep them; set NUMBA_CACHE_DIR"
        sys.stderr.write(f"dropgnn: compiling loops, which takes up to a minute and happens {often}\n")
        sys.stderr.flush()


def _is_ours(happening: Any) -> bool:
    return str(happening.data["dispatcher"].py_func.__module__).startswith(__package__)


_REMARK = _Remark()


def say_if(is_our_turn: Callable[[], bool]) -> None:
    """Of several processes that work together, only that which finds its turn come says that loops are being compiled."""
    _REMARK.is_our_turn = is_our_turn


if numba is not None:
    event.Listener.register(_Remark)
    event.register("numba:compile", _REMARK)
