"""Weighted batch norm and the ReLU behind it in as few passes over the rows as there can be.

Sums run in blocks of rows: short sums in the dtype of the rows, which vectorise, added up in double precision.
"""

from __future__ import annotations

import numpy as np
from numba import njit

BLOCK = 64


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def forward(x, weight, gain, bias, eps, relu):
    """Normalised rows, their weighted mean and variance, 1 / sqrt(variance + eps), and each row's share of the weight."""
    rows, width = x.shape
    share = (weight / weight.sum()).astype(x.dtype)
    mean, variance, block = np.zeros(width), np.zeros(width), np.empty(width, x.dtype)
    for first in range(0, rows, BLOCK):
        block[:] = 0
        for row in range(first, min(first + BLOCK, rows)):
            for column in range(width):
                block[column] += share[row] * x[row, column]
        mean += block
    centre = mean.astype(x.dtype)
    for first in range(0, rows, BLOCK):
        block[:] = 0
        for row in range(first, min(first + BLOCK, rows)):
            for column in range(width):
                off = x[row, column] - centre[column]
                block[column] += share[row] * off * off
        variance += block
    scale = (1.0 / np.sqrt(variance + eps)).astype(x.dtype)
    out, factor = np.empty_like(x), scale * gain
    for row in range(rows):
        for column in range(width):
            value = (x[row, column] - centre[column]) * factor[column] + bias[column]
            out[row, column] = max(value, 0) if relu else value
    return out, centre, variance.astype(x.dtype), scale, share


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def backward(gradient, x, out, share, centre, scale, gain, relu):
    """Gradients of the rows, of the gain and of the bias."""
    rows, width = x.shape
    total, along = np.zeros(width), np.zeros(width)
    block, block_along = np.empty(width, x.dtype), np.empty(width, x.dtype)
    for first in range(0, rows, BLOCK):
        block[:] = 0
        block_along[:] = 0
        for row in range(first, min(first + BLOCK, rows)):
            for column in range(width):
                g = gradient[row, column] if not relu or out[row, column] > 0 else x.dtype.type(0)
                block[column] += g
                block_along[column] += g * (x[row, column] - centre[column])
        total += block
        along += block_along
    along *= scale
    to_x, factor = np.empty_like(x), scale * gain
    shift, slope = total.astype(x.dtype), (along * scale).astype(x.dtype)
    for row in range(rows):
        for column in range(width):
            g = gradient[row, column] if not relu or out[row, column] > 0 else x.dtype.type(0)
            pull = share[row] * (shift[column] + (x[row, column] - centre[column]) * slope[column])
            to_x[row, column] = factor[column] * (g - pull)
    return to_x, along.astype(x.dtype), total.astype(x.dtype)
