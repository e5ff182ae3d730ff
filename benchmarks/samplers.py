"""Seconds per epoch of the samplers of ``dropgnn reproduce samplers``, over those of random runs: alternating, medians.

``python -m benchmarks.samplers`` prints the table that the study holds.
"""

from __future__ import annotations

import time
from statistics import median

import torch
from rich.progress import track

from dropgnn.experiments.beyond_wl import TASKS, run
from dropgnn.experiments.studies.samplers import TRAINED, trainings
from dropgnn.experiments.studies.scale import Scale

EPOCHS, REPEATS = 30, 5


def seconds_per_epoch(task: str, sampler: str) -> float:
    """Of one short training; what comes before and after its epochs does not count."""
    moments: list[float] = []
    (trial,) = trainings(Scale(seeds=1, epochs=EPOCHS), task, sampler)
    run(trial, lambda epoch, loss: moments.append(time.perf_counter()))
    return (moments[-1] - moments[0]) / (EPOCHS - 1)


def main() -> None:
    torch.set_num_threads(1)
    for task in track(TASKS):
        times: dict[str, list[float]] = {sampler: [] for sampler in TRAINED}
        for _ in range(REPEATS):
            for sampler, found in times.items():
                found.append(seconds_per_epoch(task, sampler))
        for sampler in TRAINED:
            print(f'    ("{task}", "{sampler}"): {median(times[sampler]) / median(times["bernoulli"]):.2f},')


if __name__ == "__main__":
    main()
