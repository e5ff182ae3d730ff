"""The inputs of an encoder beside its rows, for all copies: made only if something looks into them.

Pooling by ``batch`` does not look: PyG's ``scatter`` adds rows up by it, and that is a sum over states.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from dropgnn.engine.functions.entries import of_all_rows, register
from dropgnn.engine.functions.names import META, META_PROPERTIES
from dropgnn.engine.pooling import pool
from dropgnn.engine.rows import HANDLE_ACTS, Block, Handle, Lazy, Rows, rows_of
from dropgnn.engine.spaces import Sharing

BATCH = "batch"
EDGES = "edge_index"

Args = Sequence[Any]
Kwargs = dict[str, Any]


def edge_index_of(sharing: Sharing) -> Handle:
    """The edges of all copies."""
    like = sharing.graph.edge_index
    return Handle((2, sharing.num_edges), like, sharing.nodes, lambda: sharing.copies.graph.edge_index, EDGES)


def batch_of(sharing: Sharing) -> Handle:
    """The copy that each row belongs to."""
    shape = (sharing.nodes.num_rows,)
    return Handle(shape, sharing.graph.batch, sharing.nodes, lambda: sharing.copies.graph.batch, BATCH)


def _is_batch(value: Any) -> bool:
    return isinstance(value, Handle) and value.role == BATCH and not value.was_edited


def _view(function: Any, args: Args, kwargs: Kwargs) -> Any:
    """``batch`` as a column, as PyG's ``scatter`` wants it."""
    handle, shape = args[0], args[1] if len(args) == 2 and isinstance(args[1], (tuple, list)) else args[1:]
    if not _is_batch(handle) or handle.dim() != 1 or kwargs or not shape:
        return NotImplemented
    if shape[0] not in (-1, handle.size(0)) or any(one != 1 for one in shape[1:]):
        return NotImplemented
    return Handle((handle.size(0), *shape[1:]), handle, handle.space, lambda: handle.full().view(*shape), BATCH)


def _expand_as(function: Any, args: Args, kwargs: Kwargs) -> Any:
    """``batch`` spread over the columns of rows."""
    handle, like = args
    if not _is_batch(handle) or kwargs or handle.dim() != like.dim() or handle.size(0) != like.size(0):
        return NotImplemented
    shape = tuple(like.shape)
    return Handle(shape, handle, handle.space, lambda: handle.full().expand(shape), BATCH)


def _largest(function: Any, args: Args, kwargs: Kwargs) -> Any:
    """The last copy that has a row."""
    handle = args[0]
    if len(args) != 1 or kwargs or not _is_batch(handle) or not handle.numel():
        return NotImplemented
    return handle.space.sharing.copy_sizes.nonzero().max()


def _scatter_add(function: Any, args: Args, kwargs: Kwargs) -> Any:
    """Rows added up by the copy they belong to."""
    if kwargs or len(args) != 4 or not isinstance(args[3], Rows) or isinstance(args[0], Lazy):
        return NotImplemented
    out, dim, index, rows = args
    sharing = rows.space.sharing
    if (
        rows.space is not sharing.nodes
        or rows.was_touched
        or not _is_batch(index)
        or dim != 0
        or index.space is not rows.space
    ):
        return NotImplemented
    fits = out.dim() == rows.dim() <= 2 and out.dtype == rows.dtype and out.size(0) >= sharing.runs.num_copies
    if not fits or tuple(index.shape) != tuple(rows.shape) or out.shape[1:] != rows.shape[1:]:
        return NotImplemented
    pooled = sum_by_copy(rows)
    pooled = pooled.squeeze(1) if rows.dim() == 1 else pooled
    if function.__name__ == "scatter_add":
        return torch.cat([out[: pooled.size(0)] + pooled, out[pooled.size(0) :]])
    out.narrow(0, 0, pooled.size(0)).add_(pooled)
    return out


def sum_by_copy(rows: Rows) -> Tensor:
    """What the rows of each copy add up to, ``[C, F]``."""
    sharing = rows.space.sharing
    xs = [block.rows if rows.dim() == 2 else block.rows.unsqueeze(1) for block in rows.blocks]
    pairs = [sharing.level(block.level).pairs for block in rows.blocks]
    every = torch.arange(sharing.runs.num_copies, device=xs[0].device)
    return pool(xs, [()], pairs, every, sharing.runs, sharing.graph.batch)[0].squeeze(0)


def _new_ones(function: Any, args: Args, kwargs: Kwargs) -> Any:
    """A one for every row is a value of rows, too; other constants know nothing of the rows."""
    rows = args[0]
    if not isinstance(rows, Rows):
        return NotImplemented
    first = min(rows.blocks, key=lambda block: block.level)
    shape = args[1] if len(args) == 2 and isinstance(args[1], (tuple, list)) else args[1:]
    if kwargs or list(shape) != [rows.size(0)]:
        return first.rows.new_ones(*args[1:], **kwargs)
    return rows_of([Block(first.rows.new_ones(first.rows.size(0)), first.level)], rows.space)


register(_scatter_add, "scatter_add_", "scatter_add")
register(_new_ones, "new_ones")
HANDLE_ACTS.update({getattr(Tensor, name): _view for name in ("view", "reshape")})
HANDLE_ACTS.update({Tensor.expand_as: _expand_as, Tensor.max: _largest, torch.max: _largest})
HANDLE_ACTS.update({getattr(Tensor, name): of_all_rows for name in META if hasattr(Tensor, name)})
HANDLE_ACTS.update({getattr(Tensor, name).__get__: of_all_rows for name in META_PROPERTIES if hasattr(Tensor, name)})
