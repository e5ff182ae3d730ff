"""Weighted batch norm and the ReLU behind it in as few passes over the rows as there can be.

Sums over a block of rows in their own dtype, which vectorise, are put together in double precision. ``moments [2, F]`` are a
weighted mean and variance.
"""

from __future__ import annotations

import numpy as np

from dropgnn.compiling import compiled

BLOCK = 128
FAST = {"contract", "reassoc", "nsz"}


@compiled()
def forward(x, weight, gain, bias, eps, relu):
    """Normalised rows, their weighted mean and variance, 1 / sqrt(variance + eps), and each row's share of the weight."""
    share, moments, seen = shares(x, weight), np.zeros((2, x.shape[1])), 0.0
    for first in range(0, x.shape[0], BLOCK):
        last = first + BLOCK
        seen = measure(x[first:last], share[first:last], seen, moments)
    centre, scale = centre_and_scale(x, moments, eps)
    out = np.empty_like(x)
    normalise(x, out, centre, scale * gain, bias, relu)
    return out, centre, moments[1].astype(x.dtype), scale, share


@compiled()
def backward(gradient, x, out, share, centre, scale, gain, relu):
    """Gradients of the rows, of the gain and of the bias."""
    to_x, sums = np.empty_like(x), np.zeros((2, x.shape[1]))
    for first in range(0, x.shape[0], BLOCK):
        last = first + BLOCK
        add_up(gradient[first:last], x[first:last], out[first:last], centre, relu, to_x[first:last], sums)
    to_gain, to_bias = gain_and_bias(x, sums, scale)
    pull(to_x, x, share, centre, scale, gain, to_gain, to_bias)
    return to_x, to_gain, to_bias


@compiled()
def shares(x, weight):
    """Each row's share of the weight, in the dtype of the rows."""
    return (weight / weight.sum()).astype(x.dtype)


@compiled(fastmath=FAST)
def measure(x, share, seen, moments):
    """Take rows into moments, which have ``seen`` so much of the weight before, and return how much by then.

    Shares sum to 1 over all rows (Chan, Golub and LeVeque, 1983, say how such parts are put together).
    """
    width, weight = x.shape[1], 0.0
    centre, squares = np.zeros(width, x.dtype), np.zeros(width, x.dtype)
    for row in range(x.shape[0]):
        weight += share[row]
        for column in range(width):
            centre[column] += share[row] * x[row, column]
    if weight == 0.0:
        return seen
    centre /= x.dtype.type(weight)
    for row in range(x.shape[0]):
        for column in range(width):
            off = x[row, column] - centre[column]
            squares[column] += share[row] * off * off
    part = weight / (seen + weight)
    for column in range(width):
        shift = centre[column] - moments[0, column]
        moments[0, column] += shift * part
        moments[1, column] += squares[column] + shift * shift * seen * part
    return seen + weight


@compiled()
def centre_and_scale(x, moments, eps):
    """The mean and 1 / sqrt(variance + eps), in the dtype of the rows."""
    return moments[0].astype(x.dtype), (1.0 / np.sqrt(moments[1] + eps)).astype(x.dtype)


@compiled(fastmath=FAST)
def normalise(x, out, centre, factor, bias, relu):
    for row in range(x.shape[0]):
        for column in range(x.shape[1]):
            value = (x[row, column] - centre[column]) * factor[column] + bias[column]
            out[row, column] = max(value, x.dtype.type(0)) if relu else value


@compiled(fastmath=FAST)
def add_up(gradient, x, out, centre, relu, passed, sums):
    """What of the gradient the ReLU has ``passed``; its ``sums``, as it is and along the rows."""
    width = x.shape[1]
    plain, along = np.zeros(width, x.dtype), np.zeros(width, x.dtype)
    for row in range(x.shape[0]):
        for column in range(width):
            g = gradient[row, column] if not relu or out[row, column] > 0 else x.dtype.type(0)
            passed[row, column] = g
            plain[column] += g
            along[column] += g * (x[row, column] - centre[column])
    sums[0] += plain
    sums[1] += along


@compiled()
def gain_and_bias(x, sums, scale):
    """The gradients of the gain and of the bias."""
    return (sums[1] * scale).astype(x.dtype), sums[0].astype(x.dtype)


@compiled(fastmath=FAST)
def pull(passed, x, share, centre, scale, gain, to_gain, to_bias):
    """From the gradient that the ReLU passed to that of the rows, in place."""
    factor, slope = scale * gain, scale * to_gain
    for row in range(x.shape[0]):
        for column in range(x.shape[1]):
            common = to_bias[column] + (x[row, column] - centre[column]) * slope[column]
            passed[row, column] = factor[column] * (passed[row, column] - share[row] * common)
