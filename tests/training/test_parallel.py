"""Trials on several processes: same results, progress reported, failures not lost."""

from __future__ import annotations

from collections.abc import Callable

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
