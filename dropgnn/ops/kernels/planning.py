"""The loops of planning.

Everything here is integers. Pairs (node, copy) are listed copy by copy; ``ptr[c] : ptr[c + 1]`` are those of copy c.
A pair that is not listed looks exactly like its node in the undropped graph.
"""

from __future__ import annotations

import numpy as np

from dropgnn.compiling import compiled
from dropgnn.ops.hashing import combine, mix
from dropgnn.ops.kernels import ABSENT
from dropgnn.ops.kernels.table import slot, table_for
from dropgnn.ops.kernels.tensors import on_tensors


@on_tensors
@compiled()
def colour_rows(words):
    """One number per distinct row of 64-bit words, and a row that has it."""
    table, keys = table_for(words.shape[0]), np.empty(words.shape[0], np.uint64)
    colour, first, count = np.empty(words.shape[0], np.int32), np.empty(words.shape[0], np.int32), 0
    for row in range(words.shape[0]):
        key = np.uint64(0)
        for column in range(words.shape[1]):
            key = mix(key ^ np.uint64(words[row, column]))
        at = slot(table, keys, key)
        if table[at] < 0:
            table[at], keys[count], first[count] = count, key, row
            count += 1
        colour[row] = table[at]
    return colour, first[:count].copy()


@on_tensors
@compiled()
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


@on_tensors
@compiled()
def refine(base, ptr, node, label, setting, cuts, removes, own_only):
    """One round of colour refinement, for the undropped graphs and for the listed pairs.

    Args:
        base: Label of every node in the undropped graph, one layer below.
        ptr, node, label: The listed pairs one layer below, and their labels.
        setting: What is the same in every round, with arrays.
        cuts: Whether dropped items cut edges. removes: whether dropped nodes are absent.
        own_only: Only count the edges (the degree) instead of listening to them: for the layer before the first.

    Returns:
        Labels of the nodes in the undropped graph, the pairs and their labels; for every state its own label below, its degree
        and where its edges begin; for every edge of a state the label below of its sender, and the edge; and what
        :func:`weigh` says.
    """
    next_ptr, next_node = _spread_effect(ptr, node, setting, base.size, own_only)
    pairs = (base, ptr, node, label)
    next_base, next_label, met, new_ptr, degree, edges = _name_states(
        pairs, next_ptr, next_node, setting, cuts, removes, own_only
    )
    own, edge_ptr, sender, edge = _list_edges(pairs, met, new_ptr, setting, cuts, 0 if own_only else edges)
    counted = _weigh(next_base, next_ptr, next_node, next_label, setting.weights, own.size)
    return next_base, next_ptr, next_node, next_label, own, degree, edge_ptr, sender, edge, *counted


@compiled()
def _spread_effect(ptr, node, setting, num_nodes, own_only):
    """The pairs that notice something one layer later: those that did, whoever hears them (unless ``own_only``), and the extra
    ones.

    In every copy the old pairs come first and in their old order.
    """
    extra_ptr, extra_node, sizes = setting.extra_ptr, setting.extra_node, setting.size
    out_ptr, out_node = setting.edges.out_ptr, setting.edges.out_node
    copies, most = ptr.size - 1, 0
    for copy in range(copies):  # in no copy more than there are nodes, or than hear of it
        hear = extra_ptr[copy + 1] - extra_ptr[copy]
        for pair in range(ptr[copy], ptr[copy + 1]):
            hear += 1 + out_ptr[node[pair] + 1] - out_ptr[node[pair]]
        most += min(hear, sizes[copy])
    seen = np.full(num_nodes, -1, np.int32)
    next_ptr, next_node, count = np.zeros(copies + 1, np.int32), np.empty(most, np.int32), 0
    for copy in range(copies):
        for pair in range(ptr[copy], ptr[copy + 1]):
            seen[node[pair]] = copy
            next_node[count] = node[pair]
            count += 1
        if ptr[copy + 1] - ptr[copy] < sizes[copy]:  # or everyone has noticed already
            if not own_only:
                for pair in range(ptr[copy], ptr[copy + 1]):
                    for edge in range(out_ptr[node[pair]], out_ptr[node[pair] + 1]):
                        if seen[out_node[edge]] != copy:
                            seen[out_node[edge]] = copy
                            next_node[count] = out_node[edge]
                            count += 1
            for position in range(extra_ptr[copy], extra_ptr[copy + 1]):
                if seen[extra_node[position]] != copy:
                    seen[extra_node[position]] = copy
                    next_node[count] = extra_node[position]
                    count += 1
        next_ptr[copy + 1] = count
    return next_ptr, next_node[:count].copy()


@compiled()
def _name_states(pairs, next_ptr, next_node, setting, cuts, removes, own_only):
    """Labels by the words of what is heard.

    The states met for the first time in copy c are ``new_ptr[c + 1] : new_ptr[c + 2]``, copy -1 being the undropped graph;
    ``met`` says at which node each was. Nodes that look otherwise in every copy are ``ABSENT`` there.
    """
    (base, ptr, node, label), drop_ptr, drop_item = pairs, setting.drop_ptr, setting.drop_item
    in_ptr, in_node, in_colour, in_item = setting.edges[:4]
    num_nodes, count, edges = base.size, 0, 0
    most = num_nodes + next_node.size
    table, keys = table_for(most), np.empty(most, np.uint64)
    met, degrees, new_ptr = np.empty(most, np.int32), np.empty(most, np.int32), np.zeros(ptr.size + 1, np.int32)
    next_base, next_label = np.empty(num_nodes, np.int32), np.empty(next_node.size, np.int32)
    usual, edge_word = np.empty(num_nodes, np.uint64), np.empty(in_colour.size, np.uint64)
    for here in range(num_nodes):
        usual[here] = mix(base[here])
    for edge in range(in_colour.size):
        edge_word[edge] = mix(in_colour[edge])
    word = usual.copy()  # of the labels in the copy at hand
    coloured = in_colour.size > 0
    unlisted = _count_unlisted(next_ptr, next_node, num_nodes, setting.weights)
    gone = np.full(setting.num_items, -2, np.int32)
    for copy in range(-1, ptr.size - 1):
        first, last = 0, num_nodes
        if copy >= 0:
            first, last = next_ptr[copy], next_ptr[copy + 1]
            for position in range(drop_ptr[copy], drop_ptr[copy + 1]):
                gone[drop_item[position]] = copy
            for pair in range(ptr[copy], ptr[copy + 1]):
                word[node[pair]] = mix(label[pair])
        for pair in range(first, last):
            here = pair if copy < 0 else next_node[pair]
            if copy < 0:
                if unlisted[here] == 0:
                    next_base[here] = ABSENT
                    continue
            elif removes and gone[here] == copy:
                next_label[pair] = ABSENT
                continue
            total, degree = np.uint64(0), 1
            for edge in range(in_ptr[here], in_ptr[here + 1]):
                if cuts and gone[in_item[edge]] == copy:
                    continue
                if coloured:
                    degree += 1 - (in_colour[edge] & 1)
                    total += combine(word[in_node[edge]], edge_word[edge])
                else:
                    degree += 1
                    total += word[in_node[edge]]
            key = combine(word[here], np.uint64(degree) if own_only else total)
            at = slot(table, keys, key)
            state = table[at]
            if state < 0:
                state = count
                table[at], keys[state], met[state], degrees[state] = state, key, here, degree
                edges += in_ptr[here + 1] - in_ptr[here]
                count += 1
            if copy < 0:
                next_base[here] = state
            else:
                next_label[pair] = state
        new_ptr[copy + 2] = count
        if copy >= 0:
            for pair in range(ptr[copy], ptr[copy + 1]):
                word[node[pair]] = usual[node[pair]]
    return next_base, next_label, met[:count].copy(), new_ptr, degrees[:count].copy(), edges


@compiled()
def _count_unlisted(ptr, node, num_nodes, weights):
    """For every node the number of copies in which it looks as in the undropped graph."""
    graph_of_copy, graph_of_node = weights[1], weights[2]
    graphs = np.int64(graph_of_node[-1]) + 1 if graph_of_node.size else 0
    copies, unlisted = np.zeros(graphs, np.int64), np.empty(num_nodes, np.int64)
    for copy in range(graph_of_copy.size):
        if graph_of_copy[copy] < graphs:
            copies[graph_of_copy[copy]] += 1
    for here in range(num_nodes):
        unlisted[here] = copies[graph_of_node[here]]
    for pair in range(ptr[-1]):
        unlisted[node[pair]] -= 1
    return unlisted


@compiled()
def _list_edges(pairs, met, new_ptr, setting, cuts, most):
    """For every state its own label below, where its edges begin, and for every edge the label below of its sender, and the edge;
    none where at ``most`` 0 are asked for."""
    (base, ptr, node, label), drop_ptr, drop_item = pairs, setting.drop_ptr, setting.drop_item
    in_ptr, in_node, _, in_item, in_edge = setting.edges[:5]
    own, edge_ptr, edges = np.empty(met.size, np.int32), np.zeros(met.size + 1, np.int32), 0
    sender, at = np.empty(most, np.int32), np.empty(most, np.int32)
    now = base.copy()  # the labels in the copy at hand
    gone = np.full(setting.num_items, -2, np.int32)  # the copy that dropped each item last
    for copy in range(-1, ptr.size - 1):
        if new_ptr[copy + 1] == new_ptr[copy + 2]:
            continue
        if copy >= 0:
            for position in range(drop_ptr[copy], drop_ptr[copy + 1]):
                gone[drop_item[position]] = copy
            for pair in range(ptr[copy], ptr[copy + 1]):
                now[node[pair]] = label[pair]
        for state in range(new_ptr[copy + 1], new_ptr[copy + 2]):
            here = met[state]
            own[state] = now[here]
            if most > 0:
                for edge in range(in_ptr[here], in_ptr[here + 1]):
                    if not (cuts and gone[in_item[edge]] == copy):
                        sender[edges], at[edges] = now[in_node[edge]], in_edge[edge]
                        edges += 1
            edge_ptr[state + 1] = edges
        if copy >= 0:
            for pair in range(ptr[copy], ptr[copy + 1]):
                now[node[pair]] = base[node[pair]]
    return own, edge_ptr, sender[:edges], at[:edges]


@compiled()
def _weigh(base, ptr, node, label, weights, states):
    """How much every state counts: the weight of its pairs, and how many there are. And for every node how much the
    copies count that do not list it; with shares (``share_ptr`` not empty), also how much each pair counts."""
    copy_weight, graph_of_copy, graph_of_node, share_ptr, share_copy, share_weight = weights
    graphs, local = np.int64(graph_of_node[-1]) + 1 if graph_of_node.size else 0, share_ptr.size > 0
    weight_of_graph, copies_of_graph = np.zeros(graphs, np.float64), np.zeros((graphs, 2), np.int64)
    for copy in range(graph_of_copy.size):
        if graph_of_copy[copy] < graphs:
            weight_of_graph[graph_of_copy[copy]] += copy_weight[copy]
            copies_of_graph[graph_of_copy[copy], 0] += 1
            copies_of_graph[graph_of_copy[copy], 1] += copy_weight[copy] > 0
    weight, count = np.zeros(states, np.float64), np.zeros(states, np.int64)
    rest, left, counting = np.empty(base.size, np.float64), np.empty(base.size, np.int64), np.empty(base.size, np.int64)
    for here in range(base.size):
        rest[here] = weight_of_graph[graph_of_node[here]]
        left[here], counting[here] = copies_of_graph[graph_of_node[here]]
    for copy in range(ptr.size - 1):
        for pair in range(ptr[copy], ptr[copy + 1]):
            rest[node[pair]] -= copy_weight[copy]
            left[node[pair]] -= 1
            counting[node[pair]] -= copy_weight[copy] > 0
            if label[pair] >= 0:
                weight[label[pair]] += copy_weight[copy]
                count[label[pair]] += 1
    for here in range(base.size):
        rest[here] = rest[here] if counting[here] > 0 else 0.0  # nothing is left but rounding
        if left[here] > 0:
            weight[base[here]] += rest[here]
            count[base[here]] += left[here]
    share = np.empty(node.size if local else 0, np.float64)
    if local:
        for here in range(base.size):
            rest[here] = share_weight[share_ptr[here] : share_ptr[here + 1]].sum()
            left[here] = share_ptr[here + 1] - share_ptr[here]
        for copy in range(ptr.size - 1):
            for pair in range(ptr[copy], ptr[copy + 1]):
                share[pair] = _share(share_ptr, share_copy, share_weight, node[pair], copy)
                if share[pair] > 0:
                    rest[node[pair]] -= share[pair]
                    left[node[pair]] -= 1
        for here in range(base.size):
            rest[here] = rest[here] if left[here] > 0 else 0.0
    return weight, count, share, rest


weigh = on_tensors(_weigh)


@compiled()
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
