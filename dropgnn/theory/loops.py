"""Colour refinement on many perturbed copies of a small graph, compiled by numba.

A graph is ``ptr [n + 1], neighbor [E], colour [n]``; ``sets [M, k]`` lists what is dropped, padded with -1.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, inline="always")
def _mix(value):
    """The finaliser of splitmix64: a bijection of 64-bit words under which nearby numbers part ways."""
    value = value + np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@njit(cache=True, nogil=True, inline="always")
def _root(part, here):
    """The representative of a component; paths are halved on the way."""
    while part[here] != here:
        part[here] = part[part[here]]
        here = part[here]
    return here


@njit(cache=True, nogil=True)
def hash_views(ptr, neighbor, colour, sets, times, depth, removes, keep):
    """64-bit words for what is seen: equal views have equal words.

    Args:
        times: How often each copy counts, ``[M]``.
        depth: Rounds of refinement; -1 means until the colours of the copy are stable.
        removes: Whether dropped nodes are taken out; otherwise they get a colour of their own.
        keep: Whether to return what every node sees in every copy, too.

    Returns:
        A word for every copy, the multiset of its colours; one for every node, the multiset of what it sees over all
        copies, those included where it is absent; and one for every node in every copy, if asked.
    """
    nodes = ptr.size - 1
    of_copy, of_node = np.empty(sets.shape[0], np.uint64), np.zeros(nodes, np.uint64)
    of_pair = np.empty((sets.shape[0] if keep else 0, nodes), np.uint64)
    word, mixed, gone = np.empty(nodes, np.uint64), np.empty(nodes, np.uint64), np.full(nodes, -1, np.int64)
    part = np.empty(nodes, np.int64)
    room = 4
    while room < 2 * nodes:
        room *= 2
    keys, stamps, stamp = np.empty(room, np.uint64), np.full(room, -1, np.int64), 0
    mask = np.uint64(room - 1)
    for copy in range(sets.shape[0]):
        for position in range(sets.shape[1]):
            if sets[copy, position] >= 0:
                gone[sets[copy, position]] = copy
        for here in range(nodes):
            word[here] = _mix(np.uint64(colour[here]) + np.uint64(1))
            if gone[here] == copy:
                word[here] = np.uint64(0)
        classes, rounds = 0, 0
        while depth < 0 or rounds < depth:
            for here in range(nodes):
                mixed[here] = np.uint64(0) if removes and gone[here] == copy else _mix(word[here])
            stamp, count = stamp + 1, 0
            for here in range(nodes):
                if removes and gone[here] == copy:
                    continue
                heard = np.uint64(0)
                for edge in range(ptr[here], ptr[here + 1]):
                    heard += mixed[neighbor[edge]]
                word[here] = _mix(np.uint64(0xD1342543DE82EF95) * word[here] + heard)
                if depth < 0:
                    at = word[here] & mask
                    while stamps[at] == stamp and keys[at] != word[here]:
                        at = (at + np.uint64(1)) & mask
                    if stamps[at] != stamp:
                        keys[at], stamps[at] = word[here], stamp
                        count += 1
            rounds += 1
            if depth < 0:
                if count == classes:
                    break
                classes = count
        total = np.uint64(rounds)
        for here in range(nodes):
            part[here] = here
            if not (removes and gone[here] == copy):
                word[here] = _mix(word[here] + np.uint64(rounds))
                total += word[here]
        of_copy[copy] = _mix(total)
        if depth < 0:  # endless rounds tell a node which colours there are in its component, and no more than that
            for here in range(nodes):
                for edge in range(ptr[here], ptr[here + 1]):
                    if not removes or (gone[here] != copy and gone[neighbor[edge]] != copy):
                        part[_root(part, here)] = _root(part, neighbor[edge])
            for here in range(nodes):
                mixed[here] = np.uint64(0)
            stamp += 1
            for here in range(nodes):
                root = _root(part, here)
                key = _mix(np.uint64(0xD1342543DE82EF95) * word[here] + np.uint64(root))
                at = key & mask
                while stamps[at] == stamp and keys[at] != key:
                    at = (at + np.uint64(1)) & mask
                if stamps[at] != stamp:
                    keys[at], stamps[at] = key, stamp
                    mixed[root] += _mix(word[here])
        for here in range(nodes):
            seen = np.uint64(0)
            if not (removes and gone[here] == copy):
                seen = word[here]
                if depth < 0:
                    seen = _mix(np.uint64(0xD1342543DE82EF95) * seen + mixed[_root(part, here)])
            of_node[here] += np.uint64(times[copy]) * _mix(seen)
            if keep:
                of_pair[copy, here] = seen
    return of_copy, of_node, of_pair


@njit(cache=True, nogil=True)
def exact_round(ptr, neighbor, graph, labels):
    """One round of refinement over all copies, ``labels [M, n]`` with -1 for absent nodes: new labels, and how many.

    Copy c is one of graph ``graph[c]``, whose node v hears ``neighbor[ptr[graph[c], v] : ptr[graph[c], v + 1]]``.

    Two pairs get the same number if and only if their own label and the sorted labels of their neighbours are the same:
    the hash only finds candidates, the lists are compared.
    """
    copies, nodes = labels.shape
    most = 1
    for which in range(ptr.shape[0]):
        for here in range(nodes):
            most = max(most, ptr[which, here + 1] - ptr[which, here])
    out = np.full((copies, nodes), -1, np.int32)
    room = 1 << 12
    table, count, used = np.full(room, -1, np.int32), 0, 0
    own, first, size = np.empty(1024, np.int32), np.zeros(1025, np.int64), np.empty(most, np.int32)
    words, lists = np.empty(1024, np.uint64), np.empty(4096, np.int32)
    for copy in range(copies):
        for here in range(nodes):
            if labels[copy, here] < 0:
                continue
            heard, word = 0, np.uint64(0)
            for edge in range(ptr[graph[copy], here], ptr[graph[copy], here + 1]):
                label = labels[copy, neighbor[edge]]
                if label >= 0:
                    word += _mix(np.uint64(label))
                    place = heard
                    while place > 0 and size[place - 1] > label:
                        size[place] = size[place - 1]
                        place -= 1
                    size[place] = label
                    heard += 1
            word = _mix(np.uint64(0xD1342543DE82EF95) * np.uint64(labels[copy, here] + 1) + word)
            if 2 * count >= room:
                room *= 4
                table = np.full(room, -1, np.int32)
                for state in range(count):
                    at = words[state] & np.uint64(room - 1)
                    while table[at] >= 0:
                        at = (at + np.uint64(1)) & np.uint64(room - 1)
                    table[at] = state
            at = word & np.uint64(room - 1)
            while True:
                state = table[at]
                if state < 0:
                    break
                same = (
                    words[state] == word
                    and own[state] == labels[copy, here]
                    and first[state + 1] - first[state] == heard
                )
                position = 0
                while same and position < heard:
                    same = lists[first[state] + position] == size[position]
                    position += 1
                if same:
                    break
                at = (at + np.uint64(1)) & np.uint64(room - 1)
            if state < 0:
                if count == own.size:
                    own = np.concatenate((own, np.empty_like(own)))
                    words = np.concatenate((words, np.empty_like(words)))
                    first = np.concatenate((first, np.zeros(own.size // 2, np.int64)))
                while used + heard > lists.size:
                    lists = np.concatenate((lists, np.empty_like(lists)))
                state = count
                table[at], own[state], words[state] = state, labels[copy, here], word
                lists[used : used + heard] = size[:heard]
                used += heard
                count += 1
                first[count] = used
            out[copy, here] = state
    return out, count
