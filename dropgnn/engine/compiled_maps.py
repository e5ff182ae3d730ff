"""Who is in which state, and how much that counts: the loops behind ``maps.py``, compiled by numba.

The arguments ``base, ptr, node, label`` are those of :class:`~dropgnn.engine.planning.Pairs`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dropgnn.engine.compiled import group


@njit(cache=True, nogil=True)
def sum_weights(base, ptr, node, label, copy_weight, weight_of_graph, copies_of_graph, graph_of_node, number):
    """How much every state counts: the weight of its pairs, and how many there are."""
    weight, count = np.zeros(number, np.float64), np.zeros(number, np.int64)
    rest, left = np.empty(base.size, np.float64), np.empty(base.size, np.int64)
    for here in range(base.size):
        rest[here], left[here] = weight_of_graph[graph_of_node[here]], copies_of_graph[graph_of_node[here]]
    for copy in range(ptr.size - 1):
        for pair in range(ptr[copy], ptr[copy + 1]):
            rest[node[pair]] -= copy_weight[copy]
            left[node[pair]] -= 1
            if label[pair] >= 0:
                weight[label[pair]] += copy_weight[copy]
                count[label[pair]] += 1
    for here in range(base.size):
        if left[here] > 0:
            weight[base[here]] += rest[here]
            count[base[here]] += left[here]
    return weight, count


@njit(cache=True, nogil=True)
def _share(share_ptr, share_copy, share_weight, here, copy):
    """The weight of ``copy`` for node ``here``, by bisection."""
    low, high = share_ptr[here], share_ptr[here + 1]
    while low < high:
        middle = (low + high) // 2
        if share_copy[middle] < copy:
            low = middle + 1
        else:
            high = middle
    found = low < share_ptr[here + 1] and share_copy[low] == copy
    return share_weight[low] if found else 0.0


@njit(cache=True, nogil=True)
def assign(
    base,
    ptr,
    node,
    label,
    copy_weight,
    weight_of_graph,
    copies_of_graph,
    graph_of_node,
    share_ptr,
    share_copy,
    share_weight,
):
    """Which states each node averages over, and with which weight: triples (node, state, weight).

    With shares (``share_ptr`` not empty) a copy's weight depends on the node.
    """
    local = share_ptr.size > 0
    rest, left = np.empty(base.size, np.float64), np.empty(base.size, np.int64)
    for here in range(base.size):
        rest[here] = 0.0 if local else weight_of_graph[graph_of_node[here]]
        left[here] = share_ptr[here + 1] - share_ptr[here] if local else copies_of_graph[graph_of_node[here]]
        if local:
            for position in range(share_ptr[here], share_ptr[here + 1]):
                rest[here] += share_weight[position]
    most = base.size + node.size
    row, column, value, count = np.empty(most, np.int32), np.empty(most, np.int32), np.empty(most, np.float64), 0
    for copy in range(ptr.size - 1):
        for pair in range(ptr[copy], ptr[copy + 1]):
            here = node[pair]
            weight = _share(share_ptr, share_copy, share_weight, here, copy) if local else copy_weight[copy]
            if local and weight == 0.0:
                continue
            rest[here] -= weight
            left[here] -= 1
            if label[pair] >= 0:
                row[count], column[count], value[count] = here, label[pair], weight
                count += 1
    for here in range(base.size):
        if left[here] > 0:
            row[count], column[count], value[count] = here, base[here], rest[here]
            count += 1
    return row[:count].copy(), column[:count].copy(), value[:count].copy()


@njit(cache=True, nogil=True)
def both_orders(row, column, value, rows, columns):
    """A sparse matrix from triples, compressed by row and by column; entries in the same place are added up."""
    ptr, by_row = group(row, rows)
    last, place = np.full(columns, -1, np.int32), np.empty(columns, np.int32)
    merged_ptr, merged_row = np.zeros(rows + 1, np.int32), np.empty(row.size, np.int32)
    merged_column, merged_value, count = np.empty(row.size, np.int32), np.empty(row.size, value.dtype), 0
    for here in range(rows):
        for position in range(ptr[here], ptr[here + 1]):
            entry = by_row[position]
            if last[column[entry]] == here:
                merged_value[place[column[entry]]] += value[entry]
            else:
                last[column[entry]], place[column[entry]] = here, count
                merged_row[count], merged_column[count], merged_value[count] = here, column[entry], value[entry]
                count += 1
        merged_ptr[here + 1] = count
    merged_column, merged_value = merged_column[:count].copy(), merged_value[:count].copy()
    column_ptr, by_column = group(merged_column, columns)
    return merged_ptr, merged_column, merged_value, column_ptr, merged_row[by_column], merged_value[by_column]


@njit(cache=True, nogil=True)
def pool_copies(base, ptr, node, label, graph_of_copy, first_node, num_nodes_of):
    """How often each state occurs in each copy: triples (row, state, times).

    Row c is copy c, row C + g the undropped graph g. A copy that differs from its graph in at most half of its nodes is
    written as the difference to it, so that there are never more triples than twice the listed pairs, and the nodes.
    """
    copies, graphs = ptr.size - 1, first_node.size
    most = 2 * node.size + base.size
    for copy in range(copies):
        if 2 * (ptr[copy + 1] - ptr[copy]) > num_nodes_of[graph_of_copy[copy]]:
            most += num_nodes_of[graph_of_copy[copy]]
    row, column, value, count = np.empty(most, np.int32), np.empty(most, np.int32), np.empty(most, np.float64), 0
    at_label, at_copy = np.empty(base.size, np.int32), np.full(base.size, -1, np.int32)
    for copy in range(copies):
        graph = graph_of_copy[copy]
        few = 2 * (ptr[copy + 1] - ptr[copy]) <= num_nodes_of[graph]
        for pair in range(ptr[copy], ptr[copy + 1]):
            at_label[node[pair]], at_copy[node[pair]] = label[pair], copy
            if few:
                row[count], column[count], value[count] = copy, base[node[pair]], -1.0
                count += 1
                if label[pair] >= 0:
                    row[count], column[count], value[count] = copy, label[pair], 1.0
                    count += 1
        if not few:
            for here in range(first_node[graph], first_node[graph] + num_nodes_of[graph]):
                state = at_label[here] if at_copy[here] == copy else base[here]
                if state >= 0:
                    row[count], column[count], value[count] = copy, state, 1.0
                    count += 1
    for graph in range(graphs):
        for here in range(first_node[graph], first_node[graph] + num_nodes_of[graph]):
            row[count], column[count], value[count] = copies + graph, base[here], 1.0
            count += 1
    return row[:count].copy(), column[:count].copy(), value[:count].copy()
