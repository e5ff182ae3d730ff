"""What it saves to train the models of a grid together: ``DROPGNN_DATA=DIR python -m benchmarks.grid``.

Seconds per epoch of the four models of Table 2's grid that see the same batches of MUTAG, one after the other and together:
alternating, medians, one thread.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import groupby
from statistics import median

import torch
from rich.progress import track

from dropgnn.experiments.graph_classification import Trial, run_together, seen_by
from dropgnn.experiments.studies.table2 import Extent, trials

EPOCHS, REPEATS = 4, 3
CONTESTANTS = ("GIN", "DropGIN, random", "DropGIN, exact")


def seconds_per_epoch(together: Sequence[Trial]) -> float:
    """What comes before and after epochs does not count."""
    moments: list[float] = []
    run_together(together, lambda epoch, loss: moments.append(time.perf_counter()))
    return (moments[-1] - moments[0]) / (EPOCHS - 1)


def main() -> None:
    torch.set_num_threads(1)
    grid = trials(Extent(("MUTAG",), grid=True, contestants=CONTESTANTS, folds=1, epochs=EPOCHS))
    order = sorted(grid, key=lambda trial: repr(seen_by(trial)))
    for seen, group in track([(seen, list(group)) for seen, group in groupby(order, key=seen_by)], transient=True):
        alone, together = [], []
        for _ in range(REPEATS):
            alone.append(sum(seconds_per_epoch([trial]) for trial in group))
            together.append(seconds_per_epoch(group))
        print(
            f"{seen.drops:<8} batches of {seen.batch_size:<4} {len(group)} models: together / alone "
            f"{median(together) / median(alone):.2f}"
        )


if __name__ == "__main__":
    main()
