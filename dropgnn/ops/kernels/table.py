"""A hash table of 64-bit words."""

from __future__ import annotations

import numpy as np

from dropgnn.compiling import compiled


@compiled()
def table_for(most):
    """An open-addressing table for up to ``most`` keys: numbers of keys, which are kept in an array of their own, so that
    the table itself stays small; -1 is free."""
    size = 64
    while 2 * size < 3 * most:
        size *= 2
    return np.full(size, -1, np.int32)


@compiled(inline="always")
def slot(table, keys, key):
    """Where the number of ``key`` is, or would be."""
    mask = table.size - 1
    at = np.int64(key & np.uint64(mask))
    while table[at] >= 0 and keys[table[at]] != key:
        at = (at + 1) & mask
    return at
