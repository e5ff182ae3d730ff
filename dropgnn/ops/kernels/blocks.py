"""Products of many rows with a small matrix, a block of rows at a time."""

from __future__ import annotations

import numpy as np

from dropgnn.compiling import compiled

ROWS = 256
"""The most rows in a block: sums over one are in the dtype of the rows."""

MULTIPLICATIONS = 2**18
"""The most of them in the product of a block: few enough for BLAS to stay on one thread, and take its way for small matrices."""

LARGEST = MULTIPLICATIONS // 16
"""The most weights of a matrix: of a larger one blocks would have too few rows, and torch's products are better."""


@compiled()
def rows_of_block(weight):
    return min(ROWS, MULTIPLICATIONS // max(weight.size, 1))


@compiled()
def turned(weight):
    """Transposed in memory: small products are a quarter faster than with the order turned on the way."""
    return np.ascontiguousarray(weight.T)


@compiled()
def map_rows(x, weight):
    """``W x`` for every row."""
    out, step, columns = np.empty((x.shape[0], weight.shape[0]), x.dtype), rows_of_block(weight), turned(weight)
    for first in range(0, x.shape[0], step):
        np.dot(x[first : first + step], columns, out[first : first + step])
    return out


@compiled()
def map_back(gradient, x, weight, arriving):
    """Gradients of x, added to what is ``arriving`` there anyway, and of the weight; where ``arriving`` has no rows, nobody asks
    for the former."""
    to_x, to_weight, part = np.empty_like(arriving), np.zeros_like(weight), np.empty_like(weight)
    step = rows_of_block(weight)
    for first in range(0, x.shape[0], step):
        block = slice(first, first + step)
        np.dot(gradient[block].T, x[block], part)
        to_weight += part
        if arriving.shape[0] > 0:
            np.dot(gradient[block], weight, to_x[block])
            _add_onto(to_x[block], arriving[block])
    return to_x, to_weight


@compiled()
def _add_onto(out, x):
    for row in range(x.shape[0]):
        for column in range(x.shape[1]):
            out[row, column] += x[row, column]
