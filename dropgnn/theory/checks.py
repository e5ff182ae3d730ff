"""What theory is given: numbers that are numbers, arrays of whole numbers, sizes that fit into memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from dropgnn.errors import InvalidArgument, whole_number

MOST_NODES = 10_000_000
"""The largest graph: its arrays take half a gigabyte."""

MOST_DIGITS = 40


def real(argument: str, value: Any, rule: str, fits: Callable[[Any], bool] = lambda value: True) -> None:
    """Refuse what is not a finite real number (a truth value is none), or does not fit."""
    plain = value.item() if isinstance(value, np.generic) else value  # numpy warns where Python compares
    try:
        good = isinstance(plain, Real) and not isinstance(plain, bool) and math.isfinite(plain) and fits(plain)
    except OverflowError:  # whole numbers and fractions beyond the largest float
        good = False
    if not good:
        raise InvalidArgument(argument, rule, got=shown(value))


def flag(argument: str, value: Any) -> bool:
    """A truth value; arrays have none."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidArgument(argument, "must be True or False", got=shown(value))
    return bool(value)


def number_of_nodes(num_nodes: Any) -> int:
    """A number of nodes whose arrays fit into memory."""
    count = whole_number("num_nodes", num_nodes, least=0)
    if count > MOST_NODES:
        raise InvalidArgument("num_nodes", f"must be at most {MOST_NODES:,}", got=shown(count))
    return count


def whole_numbers(argument: str, values: Any, rule: str, *, ndim: int) -> np.ndarray:
    """An array of whole numbers; what has no elements may have any type."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        raise InvalidArgument(argument, rule, got=shown(values)) from None
    fits = array.dtype.kind in "iu" and (array.dtype.kind == "i" or not array.size or int(array.max()) < 2**63)
    if array.ndim != ndim or (array.size and not fits):
        raise InvalidArgument(argument, rule, got=f"an array of shape {list(array.shape)} and type {array.dtype}")
    return array.astype(np.int64, copy=False)


def shown(value: object) -> str:
    """A value in a message, cut where it is long."""
    try:
        text = str(value)
    except ValueError:  # Python does not write whole numbers of thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= MOST_DIGITS else f"{text[:MOST_DIGITS]}..."
