"""Linear maps along a plan, each with its transpose: what one adds up, the other spreads. Those that return rows are told how
many."""

from __future__ import annotations

import numpy as np

from dropgnn.compiling import compiled
from dropgnn.ops.hashing import mix


@compiled(inline="always")
def _add(out, row, x, column, value):
    """out[row] += value * x[column]"""
    for feature in range(x.shape[1]):
        out[row, feature] += value * x[column, feature]


@compiled()
def combine(x, rows, row, column, value):
    """Any sparse matrix, as triples."""
    out = np.zeros((rows, x.shape[1]), x.dtype)
    for entry in range(row.size):
        _add(out, row[entry], x, column[entry], x.dtype.type(value[entry]))
    return out


@compiled()
def combine_back(x, rows, row, column, value):
    return combine(x, rows, column, row, value)


@compiled()
def add_rows(x, rows, index):
    """Sum rows that share an index."""
    out, one = np.zeros((rows, x.shape[1]), x.dtype), x.dtype.type(1)
    for entry in range(index.size):
        _add(out, index[entry], x, entry, one)
    return out


@compiled()
def sum_segments(x, rows, ptr):
    """Sum consecutive rows, ``ptr[i]`` to ``ptr[i + 1]``, into the last rows of the result."""
    out, one, first = np.zeros((rows, x.shape[1]), x.dtype), x.dtype.type(1), rows - ptr.size + 1
    for row in range(ptr.size - 1):
        for entry in range(ptr[row], ptr[row + 1]):
            _add(out, first + row, x, entry, one)
    return out


@compiled()
def max_segments(x, rows, ptr):
    """The largest of consecutive rows, entry by entry, as :func:`sum_segments`; zeros where there are none."""
    out, first = np.zeros((rows, x.shape[1]), x.dtype), rows - ptr.size + 1
    for row in range(ptr.size - 1):
        for entry in range(ptr[row], ptr[row + 1]):
            for feature in range(x.shape[1]):
                if entry == ptr[row] or not x[entry, feature] <= out[first + row, feature]:
                    out[first + row, feature] = x[entry, feature]
    return out


@compiled()
def max_segments_back(gradient, x, out, ptr):
    """Largest entries share the gradient evenly, as in torch."""
    found, first, features = np.empty_like(x), out.shape[0] - ptr.size + 1, x.shape[1]
    share = np.empty(features, x.dtype)
    for row in range(ptr.size - 1):
        here = first + row
        share[:] = 0
        for entry in range(ptr[row], ptr[row + 1]):
            for feature in range(features):
                share[feature] += x[entry, feature] == out[here, feature]
        for feature in range(features):
            share[feature] = gradient[here, feature] / max(share[feature], x.dtype.type(1))
        for entry in range(ptr[row], ptr[row + 1]):
            for feature in range(features):
                found[entry, feature] = share[feature] if x[entry, feature] == out[here, feature] else x.dtype.type(0)
    return found


@compiled()
def hear(x, rows, own, edge_ptr, sender, factor, mean):
    """``factor`` times a state's own row below and the sum, or the mean, of the rows it hears."""
    out = np.empty((rows, x.shape[1]), x.dtype)
    gather(out, x, 0, own.size, own, edge_ptr, sender, factor, mean)
    return out


@compiled()
def hear_back(x, rows, own, edge_ptr, sender, factor, mean):
    out = np.zeros((rows, x.shape[1]), x.dtype)
    scatter(out, x, own, edge_ptr, sender, factor, mean)
    return out


@compiled()
def gather(out, x, first, last, own, edge_ptr, sender, factor, mean):
    """What some of the states hear."""
    one = x.dtype.type(1)
    for state in range(first, last):
        share = one / x.dtype.type(max(edge_ptr[state + 1] - edge_ptr[state], 1)) if mean else one
        here = own[state]  # looked up once: the compiler cannot know that writing rows leaves it as it is
        for feature in range(x.shape[1]):
            out[state, feature] = x.dtype.type(factor) * x[here, feature]
        for edge in range(edge_ptr[state], edge_ptr[state + 1]):
            there = sender[edge]
            _add(out, state, x, there, share)


@compiled()
def scatter(out, x, own, edge_ptr, sender, factor, mean):
    """The transpose, for all states, added onto ``out``."""
    one = x.dtype.type(1)
    for state in range(own.size):
        share = one / x.dtype.type(max(edge_ptr[state + 1] - edge_ptr[state], 1)) if mean else one
        _add(out, own[state], x, state, x.dtype.type(factor))
        for edge in range(edge_ptr[state], edge_ptr[state + 1]):
            _add(out, sender[edge], x, state, share)


@compiled()
def average(x, rows, base, ptr, node, label, share, rest, copy_weight):
    """The weighted sum over copies of every node's rows."""
    out = np.zeros((rows, x.shape[1]), x.dtype)
    for here in range(base.size):
        if base[here] >= 0:
            _add(out, here, x, base[here], x.dtype.type(rest[here]))
    for copy in range(ptr.size - 1):
        for pair in range(ptr[copy], ptr[copy + 1]):
            if label[pair] >= 0:
                weight = share[pair] if share.size else copy_weight[copy]
                _add(out, node[pair], x, label[pair], x.dtype.type(weight))
    return out


@compiled()
def average_back(x, rows, base, ptr, node, label, share, rest, copy_weight):
    out = np.zeros((rows, x.shape[1]), x.dtype)
    for here in range(base.size):
        if base[here] >= 0:
            _add(out, base[here], x, here, x.dtype.type(rest[here]))
    for copy in range(ptr.size - 1):
        for pair in range(ptr[copy], ptr[copy + 1]):
            if label[pair] >= 0:
                weight = share[pair] if share.size else copy_weight[copy]
                _add(out, label[pair], x, node[pair], x.dtype.type(weight))
    return out


@compiled()
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


@compiled()
def pool(out, x, chosen, base, ptr, node, label, graph_of_copy, graph_of_node, graphs):
    """The sum over the nodes of every chosen copy into ``out [chosen, F]``: that of the undropped graph, and what is different in
    the copy."""
    one, undropped = x.dtype.type(1), np.zeros((graphs, x.shape[1]), x.dtype)
    for here in range(base.size):
        if base[here] >= 0:
            _add(undropped, graph_of_node[here], x, base[here], one)
    for number, copy in enumerate(chosen):
        out[number] = undropped[graph_of_copy[copy]]
        for pair in range(ptr[copy], ptr[copy + 1]):
            if base[node[pair]] >= 0:
                _add(out, number, x, base[node[pair]], -one)
            if label[pair] >= 0:
                _add(out, number, x, label[pair], one)


@compiled()
def pool_back(gradient, states, chosen, base, ptr, node, label, graph_of_copy, graph_of_node, graphs):
    """From rows ``[chosen, F]`` to rows ``[states, F]``."""
    one, undropped = gradient.dtype.type(1), np.zeros((graphs, gradient.shape[1]), gradient.dtype)
    out = np.zeros((states, gradient.shape[1]), gradient.dtype)
    for number, copy in enumerate(chosen):
        _add(undropped, graph_of_copy[copy], gradient, number, one)
        for pair in range(ptr[copy], ptr[copy + 1]):
            if base[node[pair]] >= 0:
                _add(out, base[node[pair]], gradient, number, -one)
            if label[pair] >= 0:
                _add(out, label[pair], gradient, number, one)
    for here in range(base.size):
        if base[here] >= 0:
            _add(out, base[here], undropped, graph_of_node[here], one)
    return out


@compiled()
def average_copies(pooled, kind, graph_of_copy, weight, graphs):
    """The weighted mean over the copies of every graph, ``[L, D, F]`` to ``[L, G, F]``."""
    out = np.zeros((pooled.shape[0], graphs, pooled.shape[2]), pooled.dtype)
    share = _shares(weight, graph_of_copy, graphs)
    for layer in range(pooled.shape[0]):
        for copy in range(kind.size):
            _add(out[layer], graph_of_copy[copy], pooled[layer], kind[copy], pooled.dtype.type(share[copy]))
    return out


@compiled()
def average_copies_back(means, kinds, kind, graph_of_copy, weight, graphs):
    out, share = np.zeros((means.shape[0], kinds, means.shape[2]), means.dtype), _shares(weight, graph_of_copy, graphs)
    for layer in range(means.shape[0]):
        for copy in range(kind.size):
            _add(out[layer], kind[copy], means[layer], graph_of_copy[copy], means.dtype.type(share[copy]))
    return out


@compiled()
def _shares(weight, graph_of_copy, graphs):
    """How much every copy counts among those of its graph."""
    total = np.zeros(graphs)
    for copy in range(weight.size):
        total[graph_of_copy[copy]] += weight[copy]
    share = np.empty_like(weight)
    for copy in range(weight.size):
        share[copy] = weight[copy] / total[graph_of_copy[copy]]
    return share
