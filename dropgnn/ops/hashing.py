"""64-bit words for colours, in compiled loops and on tensors: equal colours have equal words, others hardly ever."""

from __future__ import annotations

import numpy as np
from torch import Tensor

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


def mix_words(value: Tensor) -> Tensor:
    """:func:`mix` of signed words, whose shifts must not carry the sign along."""
    value = value + _signed(0x9E3779B97F4A7C15)
    value = (value ^ _shift(value, 30)) * _signed(0xBF58476D1CE4E5B9)
    value = (value ^ _shift(value, 27)) * _signed(0x94D049BB133111EB)
    return value ^ _shift(value, 31)


def combine_words(one: Tensor, other: Tensor) -> Tensor:
    """:func:`combine` of signed words."""
    return mix_words(one * _signed(0xD1342543DE82EF95) + other)


def _shift(value: Tensor, bits: int) -> Tensor:
    return (value >> bits) & ((1 << (64 - bits)) - 1)


def _signed(constant: int) -> int:
    """An unsigned 64-bit constant as the signed number with the same bits."""
    return constant - (1 << 64) if constant >= 1 << 63 else constant
