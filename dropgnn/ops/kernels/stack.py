r"""The layers of GIN, forward and backward.

A layer is :math:`\mathrm{ReLU}\,\mathrm{BN}\,(W_2\,\mathrm{ReLU}\,\mathrm{BN}(W_1 h))`, where h is what a state hears.
Norms want to know all rows before they change one. Between them a block of rows stays in the cache while everything is done to
it: the norm, the linear map behind it, and what the next norm wants to know. Biases in front of norms are not here: a norm
takes them away again.
"""

from __future__ import annotations

import numpy as np

from dropgnn.compiling import compiled
from dropgnn.ops.kernels.blocks import map_back, map_rows, rows_of_block, turned
from dropgnn.ops.kernels.norm import (
    add_up,
    centre_and_scale,
    gain_and_bias,
    measure,
    normalise,
    pull,
    shares,
)
from dropgnn.ops.kernels.products import gather, scatter


@compiled()
def hear_mapped(x, weight, own, edge_ptr, sender, factor, mean, counts):
    r"""``W h`` for every state, with moments and shares.

    The map goes first, :math:`W(x_s + \sum_t x_t) = W x_s + \sum_t W x_t`: there are fewer states below than here.
    """
    mapped, heard = map_rows(x, weight), np.empty((own.size, weight.shape[0]), x.dtype)
    share, moments, seen, step = shares(x, counts), np.zeros((2, weight.shape[0])), 0.0, rows_of_block(weight)
    for first in range(0, own.size, step):
        block = slice(first, min(first + step, own.size))
        gather(heard, mapped, block.start, block.stop, own, edge_ptr, sender, factor, mean)
        seen = measure(heard[block], share[block], seen, moments)
    return heard, moments, share


@compiled()
def hear_mapped_back(gradient, x, weight, own, edge_ptr, sender, factor, mean, arriving):
    """Gradients of x and of the weight; ``arriving`` as in :func:`map_back`."""
    mapped = np.zeros((x.shape[0], weight.shape[0]), x.dtype)
    scatter(mapped, gradient, own, edge_ptr, sender, factor, mean)
    return map_back(mapped, x, weight, arriving)


@compiled()
def map_heard(heard, weight, counts):
    """``W h`` for every state that has heard, with moments and shares."""
    out, step, columns = np.empty((heard.shape[0], weight.shape[0]), heard.dtype), rows_of_block(weight), turned(weight)
    share, moments, seen = shares(heard, counts), np.zeros((2, weight.shape[0])), 0.0
    for first in range(0, heard.shape[0], step):
        block = slice(first, first + step)
        np.dot(heard[block], columns, out[block])
        seen = measure(out[block], share[block], seen, moments)
    return out, moments, share


@compiled()
def finish(first, moments, share, eps, bias, gain, shift, weight, next_eps, next_bias, next_gain, next_shift):
    """From the rows before the first norm to the layer's: norm, ReLU, linear map, norm, ReLU.

    Returns:
        The rows, and those before the second norm; centre and scale of both norms; and the moments that both have seen, with
        biases.
    """
    centre, scale = centre_and_scale(first, moments, eps)
    step, columns = rows_of_block(weight), turned(weight)
    second, hidden = (
        np.empty((first.shape[0], weight.shape[0]), first.dtype),
        np.empty((step, first.shape[1]), first.dtype),
    )
    next_moments, seen = np.zeros((2, weight.shape[0])), 0.0
    for start in range(0, first.shape[0], step):
        block = slice(start, min(start + step, first.shape[0]))
        some = hidden[: block.stop - start]
        normalise(first[block], some, centre, scale * gain, shift, True)
        np.dot(some, columns, second[block])
        seen = measure(second[block], share[block], seen, next_moments)
    next_centre, next_scale = centre_and_scale(second, next_moments, next_eps)
    out = np.empty_like(second)
    normalise(second, out, next_centre, next_scale * next_gain, next_shift, True)
    moments[0] += bias
    next_moments[0] += next_bias
    seen_by_both = moments.astype(first.dtype), next_moments.astype(first.dtype)
    return out, second, centre, scale, next_centre, next_scale, *seen_by_both


@compiled()
def finish_back(
    gradient, out, second, first, share, centre, scale, next_centre, next_scale, gain, shift, weight, next_gain
):
    """Gradients of the rows before the first norm, of its gain and shift, of the weight, of the second norm's gain and shift."""
    step, passed, sums = rows_of_block(weight), np.empty_like(second), np.zeros((2, second.shape[1]))
    for start in range(0, first.shape[0], step):
        block = slice(start, start + step)
        add_up(gradient[block], second[block], out[block], next_centre, True, passed[block], sums)
    to_next_gain, to_next_shift = gain_and_bias(second, sums, next_scale)
    to_weight, part = np.zeros_like(weight), np.empty_like(weight)
    to_first, first_sums = np.empty_like(first), np.zeros((2, first.shape[1]))
    hidden, to_hidden = np.empty((step, first.shape[1]), first.dtype), np.empty((step, first.shape[1]), first.dtype)
    for start in range(0, first.shape[0], step):
        block = slice(start, min(start + step, first.shape[0]))
        some, to_some = hidden[: block.stop - start], to_hidden[: block.stop - start]
        pull(
            passed[block], second[block], share[block], next_centre, next_scale, next_gain, to_next_gain, to_next_shift
        )
        normalise(first[block], some, centre, scale * gain, shift, True)
        np.dot(passed[block].T, some, part)
        to_weight += part
        np.dot(passed[block], weight, to_some)
        add_up(to_some, first[block], some, centre, True, to_first[block], first_sums)
    to_gain, to_shift = gain_and_bias(first, first_sums, scale)
    pull(to_first, first, share, centre, scale, gain, to_gain, to_shift)
    return to_first, to_gain, to_shift, to_weight, to_next_gain, to_next_shift
