"""Colour refinement on many perturbed copies of a small graph, compiled by numba.

A graph is ``ptr [n + 1], neighbor [E], kind [E], colour [n]``, kinds being the colours of edges; ``sets [M, k]`` lists what
is dropped, padded with -1.
"""

from __future__ import annotations

import numpy as np

from dropgnn.compiling import compiled
from dropgnn.ops.hashing import combine, mix


@compiled(inline="always")
def _root(part, here):
    """The representative of a component; paths are halved on the way."""
    while part[here] != here:
        part[here] = part[part[here]]
        here = part[here]
    return here


@compiled(inline="always")
def _is_new(keys, stamps, stamp, key):
    """Whether a key comes for the first time since the stamp was renewed; it is remembered."""
    mask = np.uint64(keys.size - 1)
    at = key & mask
    while stamps[at] == stamp and keys[at] != key:
        at = (at + np.uint64(1)) & mask
    found = stamps[at] != stamp
    keys[at], stamps[at] = key, stamp
    return found


@compiled()
def hash_views(ptr, neighbor, kind, colour, sets, depth, removes, knows_itself, keep):
    """64-bit words for what is seen: equal views have equal words.

    Without a depth every component of a copy is refined until its colours are stable, by itself: what a node sees must not
    depend on nodes it cannot hear. Endless rounds tell a node which colours there are in its component, and no more.

    Args:
        depth: Rounds of refinement; -1 means until nothing changes any more.
        removes: Whether dropped nodes are taken out; otherwise they get a colour of their own.
        knows_itself: Whether a node tells its own colour from those it hears; if not, there must be a depth.
        keep: Whether to return what every node sees in every copy, too.

    Returns:
        A word for every copy, the multiset of its colours; one for every node, the multiset of what it sees over all
        copies, those included where it is absent; and one for every node in every copy, if asked.
    """
    nodes = ptr.size - 1
    of_copy, of_node = np.empty(sets.shape[0], np.uint64), np.zeros(nodes, np.uint64)
    of_pair = np.empty((sets.shape[0] if keep else 0, nodes), np.uint64)
    word, mixed, gone = np.empty(nodes, np.uint64), np.empty(nodes, np.uint64), np.full(nodes, -1, np.int64)
    part, classes, count = np.empty(nodes, np.int64), np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    rounds = np.empty(nodes, np.int64)
    room = 4
    while room < 2 * nodes:
        room *= 2
    keys, stamps, stamp = np.empty(room, np.uint64), np.full(room, -1, np.int64), 0
    for copy in range(sets.shape[0]):
        for position in range(sets.shape[1]):
            if sets[copy, position] >= 0:
                gone[sets[copy, position]] = copy
        for here in range(nodes):
            part[here], classes[here], rounds[here] = here, 0, -1
            word[here] = np.uint64(0) if gone[here] == copy else mix(colour[here] + 1)
        for here in range(nodes if depth < 0 else 0):
            for edge in range(ptr[here], ptr[here + 1]):
                if not removes or (gone[here] != copy and gone[neighbor[edge]] != copy):
                    part[_root(part, here)] = _root(part, neighbor[edge])
        for here in range(nodes):
            part[here] = _root(part, here) if depth < 0 else 0

        done, growing = 0, True
        while growing and (depth < 0 or done < depth):
            for here in range(nodes):
                mixed[here] = np.uint64(0) if removes and gone[here] == copy else mix(word[here])
                count[here] = 0
            stamp += 1
            for here in range(nodes):
                if (removes and gone[here] == copy) or rounds[part[here]] >= 0:
                    continue
                heard, own = (np.uint64(0), word[here]) if knows_itself else (mixed[here], np.uint64(0))
                for edge in range(ptr[here], ptr[here + 1]):
                    said = mixed[neighbor[edge]]
                    if kind[edge] > 0 and not (removes and gone[neighbor[edge]] == copy):
                        said = combine(np.uint64(kind[edge]), said)
                    heard += said
                word[here] = combine(own, heard)
                if depth < 0:
                    count[part[here]] += _is_new(keys, stamps, stamp, combine(word[here], np.uint64(part[here])))
            done += 1
            if depth < 0:
                growing = False
                for root in range(nodes):
                    if part[root] == root and rounds[root] < 0:
                        if count[root] == classes[root]:
                            rounds[root] = done
                        growing = growing or rounds[root] < 0
                        classes[root] = count[root]

        if depth < 0:
            stamp += 1
            for here in range(nodes):
                mixed[here] = np.uint64(0)
            for here in range(nodes):
                if _is_new(keys, stamps, stamp, combine(word[here], np.uint64(part[here]))):
                    mixed[part[here]] += mix(word[here])
        total = np.uint64(0)
        for here in range(nodes):
            seen = np.uint64(0)
            if not (removes and gone[here] == copy):
                seen = word[here]
                if depth < 0:
                    seen = combine(mix(seen + np.uint64(rounds[part[here]])), mixed[part[here]])
                total += mix(seen)
            of_node[here] += mix(seen)
            if keep:
                of_pair[copy, here] = seen
        of_copy[copy] = mix(total)
    return of_copy, of_node, of_pair


@compiled()
def exact_round(ptr, neighbor, kind, kinds, graph, labels):
    """One round of refinement over all copies, ``labels [M, n]`` with -1 for absent nodes: new labels, and how many.

    Copy c is one of graph ``graph[c]``, whose node v hears ``neighbor[ptr[graph[c], v] : ptr[graph[c], v + 1]]`` through
    edges of as many ``kind``, numbers below ``kinds``; labels times kinds must fit into 31 bits.

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
    own, first, heard = np.empty(1024, np.int32), np.zeros(1025, np.int64), np.empty(most, np.int32)
    words, lists = np.empty(1024, np.uint64), np.empty(4096, np.int32)
    for copy in range(copies):
        for here in range(nodes):
            if labels[copy, here] < 0:
                continue
            many, word = 0, np.uint64(0)
            for edge in range(ptr[graph[copy], here], ptr[graph[copy], here + 1]):
                label = labels[copy, neighbor[edge]]
                if label >= 0:
                    label = label * kinds + kind[edge]
                    word += mix(label)
                    place = many
                    while place > 0 and heard[place - 1] > label:
                        heard[place] = heard[place - 1]
                        place -= 1
                    heard[place] = label
                    many += 1
            word = combine(np.uint64(labels[copy, here] + 1), word)
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
                    and first[state + 1] - first[state] == many
                )
                position = 0
                while same and position < many:
                    same = lists[first[state] + position] == heard[position]
                    position += 1
                if same:
                    break
                at = (at + np.uint64(1)) & np.uint64(room - 1)
            if state < 0:
                if count == own.size:
                    own = np.concatenate((own, np.empty_like(own)))
                    words = np.concatenate((words, np.empty_like(words)))
                    first = np.concatenate((first, np.zeros(own.size // 2, np.int64)))
                while used + many > lists.size:
                    lists = np.concatenate((lists, np.empty_like(lists)))
                state = count
                table[at], own[state], words[state] = state, labels[copy, here], word
                lists[used : used + many] = heard[:many]
                used += many
                count += 1
                first[count] = used
            out[copy, here] = state
    return out, count
