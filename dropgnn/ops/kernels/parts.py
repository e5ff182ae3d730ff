"""The loops behind the parts of a plan."""

from __future__ import annotations

import numpy as np

from dropgnn.compiling import compiled
from dropgnn.ops.kernels.tensors import on_tensors


@on_tensors
@compiled()
def cut_pairs(chosen, node_ptr, copy_ptr, base, ptr, node, label, numbers):
    """The pairs of the chosen graphs, and the states that occur among them, in the order in which they are met.

    ``numbers[state]`` becomes the state's new number; it must be -1 for all of them before.
    """
    nodes, copies, pairs = 0, 0, 0
    for graph in chosen:
        nodes += node_ptr[graph + 1] - node_ptr[graph]
        copies += copy_ptr[graph + 1] - copy_ptr[graph]
        pairs += ptr[copy_ptr[graph + 1]] - ptr[copy_ptr[graph]]
    new_base, new_ptr = np.empty(nodes, np.int32), np.zeros(copies + 1, np.int32)
    new_node, new_label = np.empty(pairs, np.int32), np.empty(pairs, np.int32)
    used, count = np.empty(min(numbers.size, nodes + pairs), np.int64), 0
    nodes, copies, pairs = 0, 0, 0
    for graph in chosen:
        for here in range(node_ptr[graph], node_ptr[graph + 1]):
            state = base[here]
            if state >= 0:
                if numbers[state] < 0:
                    numbers[state], used[count] = count, state
                    count += 1
                state = numbers[state]
            new_base[nodes + here - node_ptr[graph]] = state
        for copy in range(copy_ptr[graph], copy_ptr[graph + 1]):
            for pair in range(ptr[copy], ptr[copy + 1]):
                state = label[pair]
                if state >= 0:
                    if numbers[state] < 0:
                        numbers[state], used[count] = count, state
                        count += 1
                    state = numbers[state]
                new_node[pairs], new_label[pairs] = nodes + node[pair] - node_ptr[graph], state
                pairs += 1
            copies += 1
            new_ptr[copies] = pairs
        nodes += node_ptr[graph + 1] - node_ptr[graph]
    return used[:count].copy(), new_base, new_ptr, new_node, new_label


@on_tensors
@compiled()
def cut_states(used, below, own, degree, edge_ptr, sender, edge):
    """The states ``used`` and what they hear; ``below`` has the new numbers of the states one level below."""
    new_own, new_degree = np.empty(used.size, np.int32), np.empty(used.size, np.int32)
    new_ptr, edges = np.zeros(used.size + 1, np.int32), 0
    for state in range(used.size):
        edges += edge_ptr[used[state] + 1] - edge_ptr[used[state]]
        new_ptr[state + 1] = edges
    new_sender, new_edge = np.empty(edges, np.int32), np.empty(edges, np.int32)
    for state in range(used.size):
        old = used[state]
        new_own[state], new_degree[state] = below[own[old]], degree[old]
        shift = new_ptr[state] - edge_ptr[old]
        for position in range(edge_ptr[old], edge_ptr[old + 1]):
            new_sender[position + shift], new_edge[position + shift] = below[sender[position]], edge[position]
    return new_own, new_degree, new_ptr, new_sender, new_edge
