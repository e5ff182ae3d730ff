"""The operations of planning in torch. Same functions and meaning as in compiled loops; only the numbers that states get may be
others.

A pair (node, copy) is found by its key, ``copy * N + node``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from dropgnn.engine.incidence import Setting, Weights
from dropgnn.graph import enumerate_blocks, offsets
from dropgnn.ops.hashing import combine_words, mix_words
from dropgnn.ops.kernels import ABSENT


def colour_rows(words: Tensor) -> tuple[Tensor, Tensor]:
    """One number per distinct row of 64-bit words, and a row that has it."""
    colour = torch.unique(words, dim=0, return_inverse=True)[1] if words.numel() else words.new_zeros(words.size(0))
    return colour.int(), _first_with_each(colour)


def group(values: Tensor, number: int) -> tuple[Tensor, Tensor]:
    """Stable sort: where each value's positions begin, and positions ordered by value."""
    counts = torch.bincount(values, minlength=number)
    return torch.nn.functional.pad(counts.cumsum(0), (1, 0)).int(), values.argsort(stable=True).int()


def native(setting: Any) -> Any:
    """Loops of ours take tensors as they are."""
    return setting


def refine(
    base: Tensor, ptr: Tensor, node: Tensor, label: Tensor, setting: Setting, cuts: bool, removes: bool, own_only: bool
) -> tuple[Tensor, ...]:
    """One round of colour refinement; see ``kernels/planning.refine``."""
    next_ptr, next_node = _spread_effect(ptr, node, setting, base.numel(), own_only)
    pairs = (base, ptr, node, label)
    next_base, next_label, *states = _label_layer(pairs, next_ptr, next_node, setting, cuts, removes, own_only)
    counted = weigh(next_base, next_ptr, next_node, next_label, setting.weights, states[0].numel())
    return next_base, next_ptr, next_node, next_label, *states, *counted


def _spread_effect(
    ptr: Tensor, node: Tensor, setting: Setting, num_nodes: int, own_only: bool
) -> tuple[Tensor, Tensor]:
    """The pairs that notice something one layer later; in every copy the old pairs come first and in their old order."""
    old = _keys(ptr, node, num_nodes)
    speaking, edges = node[:0] if own_only else node, setting.edges
    edge, pair = enumerate_blocks(edges.out_ptr[speaking], edges.out_ptr.diff()[speaking])
    hearers = _copies(ptr)[pair] * num_nodes + edges.out_node[edge]
    reached = torch.unique(torch.cat([hearers, _keys(setting.extra_ptr, setting.extra_node, num_nodes)]))
    keys = torch.cat([old, reached[~torch.isin(reached, old)]])
    copy = torch.div(keys, max(num_nodes, 1), rounding_mode="floor")
    order = copy.argsort(stable=True)
    next_ptr, _ = group(copy, ptr.numel() - 1)
    return next_ptr, (keys - copy * num_nodes)[order].int()


def _label_layer(
    pairs: tuple[Tensor, Tensor, Tensor, Tensor], next_ptr: Tensor, next_node: Tensor, setting: Setting,
    cuts: bool, removes: bool, own_only: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Labels, and what every state hears. The undropped graphs come as copy -1."""
    (base, ptr, node, label), num_items = pairs, setting.num_items
    in_ptr, in_node, in_colour, in_item, in_edge = setting.edges[:5]
    num_nodes, everyone = base.numel(), torch.arange(base.numel(), device=base.device)
    here = torch.cat([everyone, next_node.long()])
    copy = torch.cat([torch.full_like(everyone, -1), _copies(next_ptr)])
    listed, order = _keys(ptr, node, num_nodes).sort()
    gone = _keys(setting.drop_ptr, setting.drop_item, num_items).sort().values

    def below(of: Tensor, in_copy: Tensor) -> Tensor:
        """The label one layer below of nodes in copies."""
        found, at = _find(listed, in_copy * num_nodes + of, in_copy >= 0)
        return torch.where(found, label[order[at]], base[of]) if listed.numel() else base[of]

    absent = _find(gone, copy * num_items + here, copy >= 0)[0] if removes else torch.zeros_like(here, dtype=torch.bool)
    absent[:num_nodes] |= _count_unlisted(next_node, num_nodes, setting.weights) == 0
    edge, pair = enumerate_blocks(in_ptr[here], in_ptr.diff()[here])
    if cuts:
        kept = ~_find(gone, copy[pair] * num_items + in_item[edge], copy[pair] >= 0)[0]
        edge, pair = edge[kept], pair[kept]
    colour = in_colour[edge].long() if in_colour.numel() else torch.zeros_like(edge)
    own, sender = below(here, copy), below(in_node[edge], copy[pair])
    degree = torch.ones_like(here).index_add(0, pair, 1 - (colour & 1))
    heard = torch.zeros_like(here).index_add(0, pair, combine_words(mix_words(sender.long()), mix_words(colour)))
    key = combine_words(mix_words(own.long()), degree if own_only else heard)
    present = (~absent).nonzero().squeeze(1)
    state = torch.full_like(here, ABSENT)
    state[present] = torch.unique(key[present], return_inverse=True)[1]
    chosen = present[_first_with_each(state[present]).long()]

    in_degree = torch.bincount(pair, minlength=here.numel())
    edge_ptr, first = (
        torch.zeros(chosen.numel() + 1, dtype=torch.int32, device=here.device),
        in_degree.cumsum(0) - in_degree,
    )
    position = edge[:0]
    if not own_only:
        edge_ptr[1:] = in_degree[chosen].cumsum(0)
        position, _ = enumerate_blocks(first[chosen], in_degree[chosen])
    state = state.int()
    return (
        state[:num_nodes].clone(), state[num_nodes:].clone(), own[chosen], degree[chosen].int(), edge_ptr,
        sender[position], in_edge[edge[position]],
    )  # fmt: skip


def _count_unlisted(node: Tensor, num_nodes: int, weights: Weights) -> Tensor:
    """For every node the number of copies in which it looks as in the undropped graph."""
    graphs = int(weights.graph_of_node[-1]) + 1 if num_nodes else 0
    copies = torch.bincount(weights.graph_of_copy, minlength=graphs)
    return copies[weights.graph_of_node] - torch.bincount(node, minlength=num_nodes)


def weigh(
    base: Tensor, ptr: Tensor, node: Tensor, label: Tensor, weights: Weights, states: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """How much every state counts, and every pair and node; see ``kernels/planning.weigh``."""
    copy_weight, graph_of_copy, graph_of_node, share_ptr, share_copy, share_weight = weights
    copy, there, usual = _copies(ptr), label >= 0, base >= 0
    graphs = int(torch.cat([graph_of_copy, graph_of_node]).max()) + 1 if graph_of_node.numel() else 0
    total = copy_weight.new_zeros(graphs).index_add(0, graph_of_copy, copy_weight) if graphs else copy_weight[:0]
    number = torch.bincount(graph_of_copy, minlength=graphs)
    left = number[graph_of_node] - torch.bincount(node, minlength=base.numel())
    counting = torch.bincount(graph_of_copy[copy_weight > 0], minlength=graphs)[graph_of_node]
    counting = counting.index_add(0, node, -(copy_weight[copy] > 0).long())
    rest = total[graph_of_node].index_add(0, node, -copy_weight[copy]) * (counting > 0)
    weight = rest.new_zeros(states).index_add(0, label[there], copy_weight[copy[there]])
    weight = weight.index_add(0, base[usual], rest[usual])
    count = left.new_zeros(states).index_add(0, label[there], left.new_ones(int(there.sum())))
    count = count.index_add(0, base[usual], left[usual])
    if not share_ptr.numel():
        return weight, count, rest[:0], rest
    owner = _copies(share_ptr)
    found, at = _find(owner * copy_weight.numel() + share_copy, node.long() * copy_weight.numel() + copy)
    share = torch.where(found, share_weight[at], torch.zeros_like(share_weight[at])) if found.numel() else rest[:0]
    left = share_ptr.diff().long().index_add(0, node, -found.long())
    rest = torch.zeros_like(rest).index_add(0, owner, share_weight).index_add(0, node, -share) * (left > 0)
    return weight, count, share, rest


def cut_pairs(
    chosen: Tensor,
    node_ptr: Tensor,
    copy_ptr: Tensor,
    base: Tensor,
    ptr: Tensor,
    node: Tensor,
    label: Tensor,
    numbers: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The pairs of the chosen graphs, and the states that occur among them; see ``kernels/parts.cut_pairs``."""
    sizes = node_ptr.diff()[chosen]
    nodes, _ = enumerate_blocks(node_ptr[chosen], sizes)
    copies, graph = enumerate_blocks(copy_ptr[chosen], copy_ptr.diff()[chosen])
    pair, copy = enumerate_blocks(ptr[copies], ptr.diff()[copies])
    old_base, old_label = base[nodes].long(), label[pair].long()
    used = torch.unique(torch.cat([old_base[old_base >= 0], old_label[old_label >= 0]]))
    numbers[used] = torch.arange(used.numel(), dtype=numbers.dtype, device=numbers.device)
    new_base, new_label = (torch.where(old >= 0, numbers[old], ABSENT) for old in (old_base, old_label))
    shift = (offsets(sizes) - node_ptr[chosen])[graph[copy]]
    new_ptr = torch.nn.functional.pad(ptr.diff()[copies].cumsum(0), (1, 0)).int()
    return used, new_base, new_ptr, (node[pair] + shift).int(), new_label


def cut_states(
    used: Tensor, below: Tensor, own: Tensor, degree: Tensor, edge_ptr: Tensor, sender: Tensor, edge: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The states ``used`` and what they hear; see ``kernels/parts.cut_states``."""
    many = edge_ptr.diff()[used]
    position, _ = enumerate_blocks(edge_ptr[used], many)
    new_ptr = torch.nn.functional.pad(many.cumsum(0), (1, 0)).int()
    return below[own[used]], degree[used], new_ptr, below[sender[position]], edge[position]


def _copies(ptr: Tensor) -> Tensor:
    """The copy of each listed pair."""
    return torch.repeat_interleave(ptr.diff()).long()  # keys of pairs do not fit into 32 bits


def _keys(ptr: Tensor, item: Tensor, number: int) -> Tensor:
    return _copies(ptr) * number + item


def _find(keys: Tensor, wanted: Tensor, among: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Whether each wanted key is among the sorted keys (and may be looked for at all), and where."""
    if not keys.numel():
        return torch.zeros_like(wanted, dtype=torch.bool), torch.zeros_like(wanted)
    at = torch.searchsorted(keys, wanted).clamp(max=keys.numel() - 1)
    found = keys[at] == wanted
    return found if among is None else found & among, at


def _first_with_each(colour: Tensor) -> Tensor:
    """The first position of each colour."""
    number = int(colour.max()) + 1 if colour.numel() else 0
    first = torch.full((number,), colour.numel(), dtype=torch.long, device=colour.device)
    positions = torch.arange(colour.numel(), device=colour.device)
    return first.scatter_reduce(0, colour.long(), positions, "amin").int()
