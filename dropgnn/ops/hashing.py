"""64-bit words for colours, compiled by numba: equal colours have equal words, others hardly ever."""

from __future__ import annotations

import numpy as np

from dropgnn.compiling import compiled


@compiled(inline="always")
def mix(value):
    """The finaliser of splitmix64: a bijection of 64-bit words under which nearby numbers part ways."""
    value = np.uint64(value) + np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@compiled(inline="always")
def combine(one, other):
    """One word for two that must not be exchangeable: a node and what it hears, a sender and the colour of its edge."""
    return mix(np.uint64(0xD1342543DE82EF95) * one + other)
