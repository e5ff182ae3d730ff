"""Trials on several processes: same results, progress reported, failures not lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from dropgnn.training.parallel import Finished, Progress, spread


def work(trial: int, on_epoch: Callable[[int, float], None]) -> tuple[int, int]:
    for epoch in range(1, 21):
        on_epoch(epoch, 0.0)
    if trial == 13:
        raise RuntimeError("unlucky")
    return trial * trial, torch.get_num_threads()


def test_results_do_not_depend_on_the_number_of_processes() -> None:
    for jobs in (1, 2):
        news = list(spread(work, [1, 2, 3], jobs=jobs))
        results = {item.number: item.result for item in news if isinstance(item, Finished)}
        assert results == {0: (1, 1), 1: (4, 1), 2: (9, 1)}
        assert sum(item.steps for item in news if isinstance(item, Progress)) <= 60


def test_a_failing_trial_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="unlucky"):
        list(spread(work, [13], jobs=1))
