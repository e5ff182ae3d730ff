"""Loops compiled by numba, for the CPU."""

from __future__ import annotations

import numpy as np

from dropgnn.compiling import compiled


@compiled()
def list_dropped(chosen, sizes, r):
    """The pairs (copy, item) of what was chosen; see ``dropped.py``."""
    found = np.empty((2, np.count_nonzero(chosen)), np.int64)
    count, first_copy, first_item = 0, 0, 0
    for graph in range(sizes.size):
        for run in range(r[graph]):
            for item in range(sizes[graph]):
                if chosen[first_item + item, run]:
                    found[0, count], found[1, count] = first_copy + run, item
                    count += 1
        first_copy, first_item = first_copy + r[graph], first_item + sizes[graph]
    return found[:, :count].copy()
