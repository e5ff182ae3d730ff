"""Linear maps along a plan, each with its transpose: what one adds up, the other spreads.

Every function takes rows ``[columns, F]`` and the number of rows to return.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dropgnn.theory.words import mix


@njit(cache=True, nogil=True, inline="always")
def _add(out, row, x, column, value):
    """out[row] += value * x[column]"""
    for feature in range(x.shape[1]):
        out[row, feature] += value * x[column, feature]


@njit(cache=True, nogil=True)
def combine(x, rows, row, column, value):
    """Any sparse matrix, as triples."""
    out = np.zeros((rows, x.shape[1]), x.dtype)
    for entry in range(row.size):
        _add(out, row[entry], x, column[entry], x.dtype.type(value[entry]))
    return out


@njit(cache=True, nogil=True)
def combine_back(x, rows, row, column, value):
    return combine(x, rows, column, row, value)


@njit(cache=True, nogil=True)
def hear(x, rows, own, edge_ptr, sender, factor, mean):
    """``factor`` times a state's own row below and the sum, or the mean, of the rows it hears."""
    out, one = np.zeros((rows, x.shape[1]), x.dtype), x.dtype.type(1)
    for state in range(own.size):
        share = one / max(edge_ptr[state + 1] - edge_ptr[state], 1) if mean else one
        _add(out, state, x, own[state], x.dtype.type(factor))
        for edge in range(edge_ptr[state], edge_ptr[state + 1]):
            _add(out, state, x, sender[edge], x.dtype.type(share))
    return out


@njit(cache=True, nogil=True)
def hear_back(x, rows, own, edge_ptr, sender, factor, mean):
    out, one = np.zeros((rows, x.shape[1]), x.dtype), x.dtype.type(1)
    for state in range(own.size):
        share = one / max(edge_ptr[state + 1] - edge_ptr[state], 1) if mean else one
        _add(out, own[state], x, state, x.dtype.type(factor))
        for edge in range(edge_ptr[state], edge_ptr[state + 1]):
            _add(out, sender[edge], x, state, x.dtype.type(share))
    return out


@njit(cache=True, nogil=True)
def average(x, rows, base, ptr, node, label, share, rest, copy_weight):
    """The weighted sum over copies of every node's rows."""
    out = np.zeros((rows, x.shape[1]), x.dtype)
    for here in range(base.size):
        _add(out, here, x, base[here], x.dtype.type(rest[here]))
    for copy in range(ptr.size - 1):
        for pair in range(ptr[copy], ptr[copy + 1]):
            if label[pair] >= 0:
                weight = share[pair] if share.size else copy_weight[copy]
                _add(out, node[pair], x, label[pair], x.dtype.type(weight))
    return out


@njit(cache=True, nogil=True)
def average_back(x, rows, base, ptr, node, label, share, rest, copy_weight):
    out = np.zeros((rows, x.shape[1]), x.dtype)
    for here in range(base.size):
        _add(out, base[here], x, here, x.dtype.type(rest[here]))
    for copy in range(ptr.size - 1):
        for pair in range(ptr[copy], ptr[copy + 1]):
            if label[pair] >= 0:
                weight = share[pair] if share.size else copy_weight[copy]
                _add(out, label[pair], x, node[pair], x.dtype.type(weight))
    return out


@njit(cache=True, nogil=True)
def count_states(base, ptr, node, label, graph_of_copy, graph_of_node, graphs):
    """For every copy a word for the states of its nodes, with their multiplicities, and how many nodes it has."""
    copies = graph_of_copy.size
    words, sizes = np.empty(copies, np.uint64), np.empty(copies, np.int64)
    undropped, nodes = np.zeros(graphs, np.uint64), np.zeros(graphs, np.int64)
    for here in range(base.size):
        undropped[graph_of_node[here]] += mix(base[here])
        nodes[graph_of_node[here]] += 1
    for copy in range(copies):
        word, size = undropped[graph_of_copy[copy]], nodes[graph_of_copy[copy]]
        for pair in range(ptr[copy], ptr[copy + 1]):
            word -= mix(base[node[pair]])
            if label[pair] >= 0:
                word += mix(label[pair])
            else:
                size -= 1
        words[copy], sizes[copy] = word, size
    return words, sizes


@njit(cache=True, nogil=True)
def pool(y, chosen, base, ptr, node, label, graph_of_copy, graph_of_node, graphs):
    """The sum over the nodes of every chosen copy: that of the undropped graph, and what is different in the copy.

    Few features, so they come one after the other: y ``[F, S]`` to ``[F, chosen]``.
    """
    out = np.empty((y.shape[0], chosen.size), y.dtype)
    for feature in range(y.shape[0]):
        undropped = np.zeros(graphs, y.dtype)
        for here in range(base.size):
            undropped[graph_of_node[here]] += y[feature, base[here]]
        for number, copy in enumerate(chosen):
            total = undropped[graph_of_copy[copy]]
            for pair in range(ptr[copy], ptr[copy + 1]):
                total -= y[feature, base[node[pair]]]
                if label[pair] >= 0:
                    total += y[feature, label[pair]]
            out[feature, number] = total
    return out


@njit(cache=True, nogil=True)
def pool_back(y, states, chosen, base, ptr, node, label, graph_of_copy, graph_of_node, graphs):
    out = np.zeros((y.shape[0], states), y.dtype)
    for feature in range(y.shape[0]):
        undropped = np.zeros(graphs, y.dtype)
        for number, copy in enumerate(chosen):
            value = y[feature, number]
            undropped[graph_of_copy[copy]] += value
            for pair in range(ptr[copy], ptr[copy + 1]):
                out[feature, base[node[pair]]] -= value
                if label[pair] >= 0:
                    out[feature, label[pair]] += value
        for here in range(base.size):
            out[feature, base[here]] += undropped[graph_of_node[here]]
    return out
