"""What states hear along edges with features, ReLU(x + e), added up on the way: no message is ever stored."""

from __future__ import annotations

import numpy as np

from dropgnn.compiling import compiled


@compiled()
def hear(x, features, own, edge_ptr, sender, edge, kind, factor, mean):
    """``factor`` times a state's own row below and the sum, or the mean, of what it hears.

    ``kind[edge]`` is the row of ``features`` that an edge has.
    """
    out, zero = np.zeros((own.size, x.shape[1]), x.dtype), x.dtype.type(0)
    for state in range(own.size):
        first, last = edge_ptr[state], edge_ptr[state + 1]
        for position in range(first, last):
            row, feature = sender[position], kind[edge[position]]
            for column in range(x.shape[1]):
                out[state, column] += max(x[row, column] + features[feature, column], zero)
        share = x.dtype.type(1.0 / max(last - first, 1) if mean else 1.0)
        for column in range(x.shape[1]):
            out[state, column] = share * out[state, column] + x.dtype.type(factor) * x[own[state], column]
    return out


@compiled()
def hear_back(gradient, x, features, own, edge_ptr, sender, edge, kind, factor, mean):
    """Gradients of the rows and of the features."""
    to_x, to_features = np.zeros_like(x), np.zeros_like(features)
    for state in range(own.size):
        first, last = edge_ptr[state], edge_ptr[state + 1]
        share = x.dtype.type(1.0 / max(last - first, 1) if mean else 1.0)
        for column in range(x.shape[1]):
            to_x[own[state], column] += x.dtype.type(factor) * gradient[state, column]
        for position in range(first, last):
            row, feature = sender[position], kind[edge[position]]
            for column in range(x.shape[1]):
                heard = x[row, column] + features[feature, column] > 0
                value = share * gradient[state, column] if heard else x.dtype.type(0)
                to_x[row, column] += value
                to_features[feature, column] += value
    return to_x, to_features
