"""The loops of planning, compiled by numba. ``planning.py`` says what they are for.

Everything here is integers. Pairs (node, copy) are listed copy by copy; ``ptr[c] : ptr[c + 1]`` are those of copy c.
A pair that is not listed looks exactly like its node in the undropped graph.
"""

from __future__ import annotations

import numpy as np
from numba import njit

ABSENT = -1
"""The label of a pair whose node was removed."""


@njit(cache=True, nogil=True, inline="always")
def _mix(value):
    """The finaliser of splitmix64: a bijection of 64-bit words under which nearby numbers part ways."""
    value = np.uint64(value) + np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@njit(cache=True, nogil=True, inline="always")
def _combine(own, heard):
    """One word for a node's own label and what it hears; the two must not be exchangeable."""
    return _mix(_mix(own) + np.uint64(0xD1342543DE82EF95) * _mix(heard))


@njit(cache=True, nogil=True)
def _table(room):
    """An open-addressing table, keys and labels side by side so that a look-up touches one place; label -1 is free."""
    table = np.empty((room, 2), np.int64)
    table[:, 1] = -1
    return table


@njit(cache=True, nogil=True, inline="always")
def _slot(table, key):
    """Where ``key`` is, or would be."""
    mask = table.shape[0] - 1
    at = np.int64(key & np.uint64(mask))
    while table[at, 1] >= 0 and np.uint64(table[at, 0]) != key:
        at = (at + 1) & mask
    return at


@njit(cache=True, nogil=True)
def _grown(table):
    """The same table with four times the room."""
    larger = _table(4 * table.shape[0])
    for old in range(table.shape[0]):
        if table[old, 1] >= 0:
            at = _slot(larger, np.uint64(table[old, 0]))
            larger[at, 0], larger[at, 1] = table[old, 0], table[old, 1]
    return larger


@njit(cache=True, nogil=True)
def _room(values, needed):
    """``values`` with space for ``needed`` entries."""
    if needed <= values.size:
        return values
    more = np.empty(max(needed, 2 * values.size), values.dtype)
    more[: values.size] = values
    return more


@njit(cache=True, nogil=True)
def colour_rows(words):
    """One number per distinct row of 64-bit words, and a row that has it."""
    table = _table(64)
    colour, first, count = np.empty(words.shape[0], np.int32), np.empty(words.shape[0], np.int32), 0
    for row in range(words.shape[0]):
        key = np.uint64(0)
        for column in range(words.shape[1]):
            key = _mix(key ^ np.uint64(words[row, column]))
        if 2 * count >= table.shape[0]:
            table = _grown(table)
        at = _slot(table, key)
        if table[at, 1] < 0:
            table[at, 0], table[at, 1] = np.int64(key), count
            first[count] = row
            count += 1
        colour[row] = table[at, 1]
    return colour, first[:count].copy()


@njit(cache=True, nogil=True)
def group(values, number):
    """Stable counting sort: positions ordered by value, and where each value's positions begin."""
    ptr = np.zeros(number + 1, np.int32)
    for value in values:
        ptr[value + 1] += 1
    for value in range(number):
        ptr[value + 1] += ptr[value]
    fill, order = ptr[:-1].copy(), np.empty(values.size, np.int32)
    for position in range(values.size):
        order[fill[values[position]]] = position
        fill[values[position]] += 1
    return ptr, order


@njit(cache=True, nogil=True)
def spread_effect(ptr, node, extra_ptr, extra_node, out_ptr, out_node, num_nodes):
    """The pairs that notice something one layer later: those that did, whoever hears them, and the extra ones.

    In every copy the old pairs come first and in their old order.
    """
    copies = ptr.size - 1
    seen = np.full(num_nodes, -1, np.int32)
    next_ptr, next_node, count = np.zeros(copies + 1, np.int32), np.empty(2 * node.size + 16, np.int32), 0
    for copy in range(copies):
        next_node = _room(next_node, count + ptr[copy + 1] - ptr[copy])
        for pair in range(ptr[copy], ptr[copy + 1]):
            seen[node[pair]] = copy
            next_node[count] = node[pair]
            count += 1
        for pair in range(ptr[copy], ptr[copy + 1]):
            first, last = out_ptr[node[pair]], out_ptr[node[pair] + 1]
            next_node = _room(next_node, count + last - first)
            for edge in range(first, last):
                if seen[out_node[edge]] != copy:
                    seen[out_node[edge]] = copy
                    next_node[count] = out_node[edge]
                    count += 1
        next_node = _room(next_node, count + extra_ptr[copy + 1] - extra_ptr[copy])
        for position in range(extra_ptr[copy], extra_ptr[copy + 1]):
            if seen[extra_node[position]] != copy:
                seen[extra_node[position]] = copy
                next_node[count] = extra_node[position]
                count += 1
        next_ptr[copy + 1] = count
    return next_ptr, next_node[:count].copy()


@njit(cache=True, nogil=True)
def label_layer(
    base, ptr, node, label, next_ptr, next_node, drop_ptr, drop_item, in_ptr, in_node, in_colour, in_item,
    cuts, removes, own_only, num_items,
):  # fmt: skip
    """Colour refinement by one layer, for the undropped graphs and for the listed pairs.

    Args:
        base: Label of every node in the undropped graph, one layer below.
        ptr, node, label: The listed pairs one layer below, and their labels.
        next_ptr, next_node: The pairs to label.
        drop_ptr, drop_item: The dropped items of every copy.
        in_ptr, in_node, in_colour, in_item: The edges heard by every node: sender, colour, and the item whose loss
            cuts the edge.
        cuts: Whether dropped items cut edges. removes: whether dropped nodes are absent.
        own_only: Only count the edges (the degree) instead of listening to them: for the layer before the first.
        num_items: How many items there are.

    Returns:
        Labels of the nodes in the undropped graph and of the pairs; for every state its own label below, its degree and
        where its edges begin; and for every edge of a state the label below of its sender and its position among the
        edges heard.
    """
    table = _table(4096)
    num_nodes, count, edges = base.size, 0, 0
    next_base, next_label = np.empty(num_nodes, np.int32), np.empty(next_node.size, np.int32)
    most = num_nodes + next_node.size
    state_own, state_degree = np.empty(most, np.int32), np.empty(most, np.int32)
    edge_ptr = np.zeros(most + 1, np.int32)
    edge_from, edge_at = np.empty(4096, np.int32), np.empty(4096, np.int32)
    now = base.copy()  # the labels in the copy at hand
    gone = np.full(num_items, -2, np.int32)
    for copy in range(-1, ptr.size - 1):  # copy -1 is the undropped graph
        first, last = 0, num_nodes
        if copy >= 0:
            first, last = next_ptr[copy], next_ptr[copy + 1]
            for position in range(drop_ptr[copy], drop_ptr[copy + 1]):
                gone[drop_item[position]] = copy
            for pair in range(ptr[copy], ptr[copy + 1]):
                now[node[pair]] = label[pair]
        for pair in range(first, last):
            here = pair if copy < 0 else next_node[pair]
            if removes and gone[here] == copy:
                next_label[pair] = ABSENT
                continue
            key, degree = np.uint64(0), 1
            for edge in range(in_ptr[here], in_ptr[here + 1]):
                if cuts and gone[in_item[edge]] == copy:
                    continue
                loop = np.uint64(in_node[edge] == here)
                degree += 1 - np.int64(loop)
                word = (np.uint64(in_colour[edge]) << np.uint64(33)) + (np.uint64(now[in_node[edge]]) << np.uint64(1))
                key += _mix(word + loop)
            key = _combine(np.uint64(now[here]), np.uint64(degree) if own_only else key)
            if 2 * count >= table.shape[0]:
                table = _grown(table)
            at = _slot(table, key)
            if table[at, 1] < 0:
                table[at, 0], table[at, 1] = np.int64(key), count
                state_own[count], state_degree[count] = now[here], degree
                if not own_only:
                    if edges + in_ptr[here + 1] - in_ptr[here] > edge_from.size:
                        edge_from = _room(edge_from, edges + in_ptr[here + 1] - in_ptr[here])
                        edge_at = _room(edge_at, edge_from.size)
                    for edge in range(in_ptr[here], in_ptr[here + 1]):
                        if cuts and gone[in_item[edge]] == copy:
                            continue
                        edge_from[edges], edge_at[edges] = now[in_node[edge]], edge
                        edges += 1
                count += 1
                edge_ptr[count] = edges
            if copy < 0:
                next_base[here] = table[at, 1]
            else:
                next_label[pair] = table[at, 1]
        if copy >= 0:
            for pair in range(ptr[copy], ptr[copy + 1]):
                now[node[pair]] = base[node[pair]]
    return (
        next_base, next_label, state_own[:count].copy(), state_degree[:count].copy(),
        edge_ptr[: count + 1].copy(), edge_from[:edges].copy(), edge_at[:edges].copy(),
    )  # fmt: skip
