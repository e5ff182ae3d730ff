"""Functions that change the columns of every row: along them, parts of them, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from dropgnn.engine.functions.entries import aligned, on_distinct, register, remember_view
from dropgnn.engine.functions.names import ALONG
from dropgnn.engine.rows import Block, Lazy, Rows, rows_of

Args = Sequence[Any]
Kwargs = dict[str, Any]


def along(function: Any, args: Args, kwargs: Kwargs) -> Any:
    """Along columns."""
    place, default = ALONG[function.__name__]
    rows = args[0] if args else kwargs.get("input")
    if not isinstance(rows, Rows) or rows.was_touched or kwargs.get("out") is not None:
        return NotImplemented
    if any(isinstance(value, Lazy) for value in (*args[1:], *kwargs.values())):
        return NotImplemented
    dim = kwargs.get("dim", kwargs.get("axis", args[place] if len(args) > place else default))
    if function.__name__ == "flip" and len(args) > 2:
        dim = args[1:]
    if not isinstance(dim, (int, tuple, list)) or isinstance(dim, bool):
        return NotImplemented
    new = function.__name__ == "unsqueeze"  # counts the dimension to come
    dims = [
        one % (rows.dim() + new) if -rows.dim() - new <= one else -1
        for one in ((dim,) if isinstance(dim, int) else dim)
    ]
    if not dims or min(dims) <= 0:
        return NotImplemented
    blocks = _cut_blocks(function.__name__, rows, args, kwargs) if len(rows.blocks) > 1 else None
    if blocks is not None:
        return blocks
    return remember_view(function, rows, on_distinct(function, (*([rows] if args else []), *args[1:]), kwargs, [rows]))


def _cut_blocks(name: str, rows: Rows, args: Args, kwargs: Kwargs) -> tuple[Rows, ...] | None:
    """Blocks apart again, where a split is along their borders."""
    sizes = args[1] if len(args) > 1 else kwargs.get("split_size_or_sections", kwargs.get("split_size"))
    widths = [block.rows.size(1) for block in rows.blocks]
    if name != "split" or not isinstance(sizes, (tuple, list)) or list(sizes) != widths:
        return None
    return remember_view("split", rows, tuple(rows_of([block], rows.space) for block in rows.blocks))


def concatenate(function: Any, args: Args, kwargs: Kwargs) -> Any:
    """Columns side by side; each part stays at its level."""
    parts, dim = (
        args[0] if args else kwargs.get("tensors"),
        kwargs.get("dim", kwargs.get("axis", args[1] if len(args) > 1 else 0)),
    )
    if (
        not isinstance(parts, (tuple, list))
        or not all(isinstance(part, Rows) for part in parts)
        or kwargs.get("out") is not None
    ):
        return NotImplemented
    if not aligned(parts, parts):
        return NotImplemented
    stacks = function.__name__ == "stack"
    if not isinstance(dim, int) or dim % (parts[0].dim() + stacks) == 0:
        return NotImplemented
    if not stacks and parts[0].dim() == 2 and len({part.dtype for part in parts}) == 1:
        return rows_of([block for part in parts for block in part.blocks], parts[0].space)
    level, space = max(part.level for part in parts), parts[0].space
    lifted = [space.lift(part.distinct(), part.level, level) for part in parts]
    return rows_of([Block(function(lifted, dim=dim), level)], space)


def getitem(function: Any, args: Args, kwargs: Kwargs) -> Any:
    """Columns by slices, numbers or one list of numbers."""
    rows, index = args
    if not isinstance(rows, Rows) or rows.was_touched or not isinstance(index, tuple) or not index:
        return NotImplemented
    whole = isinstance(index[0], slice) and index[0] == slice(None)
    if index[0] is Ellipsis:
        whole = rows.dim() > len([one for one in index[1:] if one is not None])
    lists = [one for one in index[1:] if not isinstance(one, (int, slice)) and one is not None and one is not Ellipsis]
    known = all(isinstance(one, (list, Tensor)) and not isinstance(one, Lazy) for one in lists)
    if (
        not whole
        or len(lists) > 1
        or not known
        or (lists and None in index)
        or any(isinstance(one, bool) for one in index)
    ):
        return NotImplemented
    if lists and any(isinstance(one, int) for one in index[1:]):
        return NotImplemented
    if (
        len(rows.blocks) > 1
        and len(index) == 2
        and isinstance(index[1], slice)
        and (cut := _cut_columns(rows, index[1])) is not None
    ):
        return remember_view("select", rows, cut)
    found = on_distinct(function, (rows, index), kwargs, [rows])
    return remember_view("select", rows, found) if not lists else found


def _cut_columns(rows: Rows, columns: slice) -> Rows | None:
    """A slice of the columns, block by block."""
    first, last, step = columns.indices(rows.size(1))
    taken, before = [], 0
    for block in rows.blocks if step == 1 else ():
        width = block.rows.size(1)
        start, stop = max(first - before, 0), min(last - before, width)
        if start < stop:
            taken.append(Block(block.rows[:, start:stop], block.level))
        before += width
    return rows_of(taken, rows.space) if taken else None


def view(function: Any, args: Args, kwargs: Kwargs) -> Any:
    """Another shape of every single row."""
    rows, shape = args[0], args[1] if len(args) == 2 and isinstance(args[1], (tuple, list)) else args[1:]
    if (
        not isinstance(rows, Rows)
        or rows.was_touched
        or kwargs
        or not shape
        or not all(type(one) is int for one in shape)
    ):
        return NotImplemented
    distinct = rows.distinct()
    width, rest = int(torch.Size(distinct.shape[1:]).numel()), list(shape[1:])
    if -1 in rest and shape[0] == rows.size(0) and rest.count(-1) == 1:
        known = -int(torch.Size(rest).numel())
        if known <= 0 or width % known:
            return NotImplemented
        rest[rest.index(-1)] = width // known
    if shape[0] not in (-1, rows.size(0)) or not rest or int(torch.Size(rest).numel()) != width or not width:
        return NotImplemented
    return remember_view(
        "select", rows, rows_of([Block(distinct.reshape(distinct.size(0), *rest), rows.level)], rows.space)
    )


def flatten(function: Any, args: Args, kwargs: Kwargs) -> Any:
    """All dimensions of every single row as one."""
    rows, names = args[0], dict(zip(("start_dim", "end_dim"), args[1:], strict=False)) | kwargs
    if not isinstance(rows, Rows) or rows.was_touched or names.get("start_dim", 0) % max(rows.dim(), 1) == 0:
        return NotImplemented
    return remember_view("select", rows, on_distinct(function, args, kwargs, [rows]))


def transpose(function: Any, args: Args, kwargs: Kwargs) -> Any:
    """Dimensions other than that of the rows turned."""
    if len(args) != 3 or kwargs or not isinstance(args[0], Rows) or args[0].was_touched:
        return NotImplemented
    if 0 in (args[1] % args[0].dim(), args[2] % args[0].dim()):
        return NotImplemented
    return remember_view("select", args[0], on_distinct(function, args, kwargs, [args[0]]))


def layer_norm(function: Any, args: Args, kwargs: Kwargs) -> Any:
    """Norms of single rows."""
    rows, names = args[0], dict(zip(("normalized_shape", "weight", "bias", "eps"), args[1:], strict=False)) | kwargs
    if not isinstance(rows, Rows) or rows.was_touched or len(names.get("normalized_shape") or (1, 1)) >= rows.dim():
        return NotImplemented
    if any(isinstance(value, Lazy) for value in names.values()):
        return NotImplemented
    return on_distinct(function, args, kwargs, [rows])


register(along, *ALONG)
register(concatenate, "cat", "concat", "concatenate", "stack")
register(getitem, "__getitem__")
register(view, "view", "reshape")
register(flatten, "flatten")
register(transpose, "transpose", "swapaxes")
register(layer_norm, "layer_norm", "rms_norm")
