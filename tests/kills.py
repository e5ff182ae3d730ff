"""Commands in processes that can be killed, forked from one that has imported everything: a start costs next to nothing."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple

import torch

from dropgnn.cli.main import app
from dropgnn.experiments import beyond_wl, property_regression, runner
from dropgnn.molecules import fitting
from dropgnn.training.parallel import Finished

FORKED = multiprocessing.get_context("forkserver")
FORKED.set_forkserver_preload(["tests.kills"])

LOADED = (beyond_wl, property_regression)
"""What commands import when they need it: imported here, before the fork."""

PATIENCE = 300.0
"""Seconds until something that does not end is an error."""


class Command(NamedTuple):
    """A command of ours.

    Args:
        arguments: Behind ``dropgnn``.
        folder: Where it is run; what it prints goes to a file beside the folder.
        cache: The folder ``XDG_CACHE_HOME``.
        save_every: Seconds between the checkpoints within an epoch of a training.
    """

    arguments: tuple[str, ...]
    folder: Path
    cache: Path
    save_every: float = fitting.SAVE_EVERY

    @property
    def log(self) -> Path:
        return self.folder.with_name(f"{self.folder.name}.log")


def start(command: Command) -> BaseProcess:
    """Start it; trials run one after the other in this one process."""
    command.folder.mkdir(exist_ok=True, parents=True)
    process = FORKED.Process(target=_run, args=(command,))
    process.start()
    return process


def finish(command: Command) -> str:
    """Run it to its end, and return what it says."""
    process = start(command)
    process.join(PATIENCE)
    assert process.exitcode == 0, f"{process.exitcode}: {command.log.read_text()}"
    return command.log.read_text()


def kill_when(there: Callable[[], object], command: Command) -> None:
    """Start it, and kill it as soon as something is there."""
    process, began = start(command), time.monotonic()
    while process.is_alive() and not there() and time.monotonic() - began < PATIENCE:
        time.sleep(0.002)
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL, f"it was over before it could be killed: {command.log.read_text()}"


def kill_until_done(
    command: Command, moments: random.Random, longest: float, after_kill: Callable[[], None] = lambda: None
) -> int:
    """Start it again and again, and kill it after at most ``longest`` seconds, until it comes to its end; returns the kills."""
    kills = 0
    while True:
        process = start(command)
        process.join(moments.uniform(0.0, longest))
        if process.exitcode is None:
            process.kill()
            process.join()
        if process.exitcode == 0:
            return kills
        assert process.exitcode == -signal.SIGKILL, f"{process.exitcode}: {command.log.read_text()}"
        kills += 1
        if kills % 10 == 0:  # on a slow machine it may never come to anything worth keeping
            longest *= 2
        after_kill()


def _run(command: Command) -> None:
    os.chdir(command.folder)
    os.environ |= {"XDG_CACHE_HOME": str(command.cache), "COLUMNS": "200"}
    torch.set_num_threads(1)
    runner.spread, fitting.SAVE_EVERY = spread_here, command.save_every  # type: ignore[assignment]
    sys.argv = ["dropgnn", *command.arguments]
    with command.log.open("w") as log, redirect_stdout(log), redirect_stderr(log):
        app()


def spread_here(work: Callable[[Any, None], Any], trials: Sequence[Any], *, jobs: int) -> Iterator[Finished[Any]]:
    """Stands in for ``spread``: the trials one after the other, in this process."""
    for number, trial in enumerate(trials):
        yield Finished(number, work(trial, None))
