"""A hash table of 64-bit words."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, inline="always")
def mix(value):
    """The finaliser of splitmix64: a bijection of 64-bit words under which nearby numbers part ways."""
    value = np.uint64(value) + np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@njit(cache=True, nogil=True, inline="always")
def combine(one, other):
    """One word for two that must not be exchangeable: a node and what it hears, a sender and the colour of its edge."""
    return mix(np.uint64(0xD1342543DE82EF95) * one + other)


@njit(cache=True, nogil=True)
def table_for(most):
    """An open-addressing table for up to ``most`` keys: numbers of keys, which are kept in an array of their own, so that
    the table itself stays small; -1 is free."""
    size = 64
    while 2 * size < 3 * most:
        size *= 2
    return np.full(size, -1, np.int32)


@njit(cache=True, nogil=True, inline="always")
def slot(table, keys, key):
    """Where the number of ``key`` is, or would be."""
    mask = table.size - 1
    at = np.int64(key & np.uint64(mask))
    while table[at] >= 0 and keys[table[at]] != key:
        at = (at + 1) & mask
    return at


@njit(cache=True, nogil=True)
def room(values, needed):
    """``values`` with space for ``needed`` entries."""
    if needed <= values.size:
        return values
    more = np.empty(max(needed, 2 * values.size), values.dtype)
    more[: values.size] = values
    return more
