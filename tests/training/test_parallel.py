"""Trials on several processes: same results, progress reported, failures not lost."""

from __future__ import annotations

import multiprocessing.util
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing import resource_tracker
from typing import Any

import pytest
import torch

from dropgnn.errors import DropGNNError
from dropgnn.training.parallel import Finished, Progress, spread


def work(trial: int, on_epoch: Callable[[int, float], None]) -> tuple[int, int]:
    for epoch in range(1, 21):
        on_epoch(epoch, 0.0)
    if trial == 13:
        raise RuntimeError("unlucky")
    return trial * trial, torch.get_num_threads()


def test_results_do_not_depend_on_the_number_of_processes() -> None:
    """Two here, one below."""
    news = list(spread(work, [1, 2, 3], jobs=2))
    results = {item.number: item.result for item in news if isinstance(item, Finished)}
    assert results == {0: (1, 1), 1: (4, 1), 2: (9, 1)}
    assert sum(item.steps for item in news if isinstance(item, Progress)) <= 60


def test_a_failing_trial_is_named_and_the_others_are_done() -> None:
    news: list[Progress | Finished[tuple[int, int]]] = []
    with pytest.raises(DropGNNError, match=r"1 of 3 trials failed; .* The first was 13: RuntimeError: unlucky"):
        news.extend(spread(work, [2, 13, 3], jobs=1))
    assert [item.result for item in news if isinstance(item, Finished)] == [(4, 1), (9, 1)]


@pytest.fixture
def _interruptible() -> Iterator[None]:
    """As in a terminal, whatever the tests were started from."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_interruptible")
@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="a thread cannot be sent a signal on this system")
def test_ctrl_c_before_a_process_has_its_data(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """It is sent all the same, or the process would end with a traceback; and the system picks a thread that masks nothing."""
    resource_tracker.ensure_running()  # it is started in the same way
    spawn, started = multiprocessing.util.spawnv_passfds, threading.Event()
    processes: list[int] = []

    def receive() -> None:
        started.wait()
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    def spawn_and_interrupt(*command: Any) -> int:
        process = spawn(*command)
        processes.append(process)
        started.set()
        other.join()
        return process

    other = threading.Thread(target=receive)
    other.start()
    monkeypatch.setattr(multiprocessing.util, "spawnv_passfds", spawn_and_interrupt)
    with pytest.raises(KeyboardInterrupt):
        list(spread(work, [1, 2, 3], jobs=1))
    for process in processes:
        with suppress(ChildProcessError):  # it has been waited for
            os.waitpid(process, 0)
    assert "Traceback" not in capfd.readouterr().err
