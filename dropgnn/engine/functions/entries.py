"""Functions of single entries, and what the other files here share: how a function is given distinct rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from dropgnn.engine.functions.names import IN_PLACE, META, META_PROPERTIES, SEVERAL, UNARY, VIEWS
from dropgnn.engine.rows import ACTS, Block, CannotShare, Lazy, Rows, rows_of

Args = Sequence[Any]
Kwargs = dict[str, Any]

HOMES = (torch, Tensor, F, torch.special, torch._C._nn, torch._VF)
"""Where torch keeps its functions; one name may be a different object in each."""


def unary(function: Any, args: Args, kwargs: Kwargs) -> Any:
    """Entry by entry, on each block."""
    rows = args[0] if args else kwargs.get("input")
    others = [value for value in (*args[1:], *kwargs.values()) if isinstance(value, Tensor) and value.dim()]
    if not isinstance(rows, Rows) or others or kwargs.get("out") is not None or rows.was_touched:
        return NotImplemented
    if kwargs.get("inplace"):
        return write(rows, lambda block: function(block, *args[1:], **(kwargs | {"inplace": False})))
    blocks = [Block(function(block.rows, *args[1:], **_without_input(kwargs)), block.level) for block in rows.blocks]
    same = _same(rows, blocks)
    return rows_of(blocks, rows.space) if same is None else same


def _without_input(kwargs: Kwargs) -> Kwargs:
    return {name: value for name, value in kwargs.items() if name != "input"} if "input" in kwargs else kwargs


def _same(rows: Rows, blocks: Sequence[Block]) -> Rows | None:
    """The value itself, where a function such as ``float`` had nothing to do."""
    return rows if all(new.rows is old.rows for new, old in zip(blocks, rows.blocks, strict=True)) else None


def several(function: Any, args: Args, kwargs: Kwargs) -> Any:
    """Entry by entry, on rows of one level."""
    values = [value for value in (*args, *kwargs.values()) if isinstance(value, Tensor)]
    if function is torch.where and len(args) + len(kwargs) < 3:
        return NotImplemented
    rows = [value for value in values if isinstance(value, Rows)]
    if not rows or kwargs.get("out") is not None or not aligned(values, rows):
        return NotImplemented
    if len(rows) == 1 and len(rows[0].blocks) > 1 and all(value is rows[0] or not value.dim() for value in values):
        blocks = []
        for block in rows[0].blocks:
            there = [block.rows if value is rows[0] else value for value in args]
            blocks.append(
                Block(
                    function(*there, **{k: block.rows if v is rows[0] else v for k, v in kwargs.items()}), block.level
                )
            )
        return rows_of(blocks, rows[0].space)
    return on_distinct(function, args, kwargs, rows)


def aligned(values: Sequence[Tensor], rows: Sequence[Rows]) -> bool:
    """Whether all rows are about the same, and whatever else is there is the same for all of them."""
    first = rows[0]
    dim = first.dim()
    for value in values:
        if isinstance(value, Rows):
            if value.space is not first.space or value.dim() != dim or value.was_touched:
                return False
        elif isinstance(value, Lazy) or value.dim() > dim or (value.dim() == dim and value.size(0) != 1):
            return False
    return True


def on_distinct(function: Any, args: Args, kwargs: Kwargs, rows: Sequence[Rows]) -> Any:
    """Call ``function`` with distinct rows of one level, that of the deepest; what comes back are distinct rows."""
    level, space = max(value.level for value in rows), rows[0].space

    def lifted(value: Any) -> Any:
        return space.lift(value.distinct(), value.level, level) if isinstance(value, Rows) else value

    return as_rows(
        function(*map(lifted, args), **{name: lifted(value) for name, value in kwargs.items()}), level, rows[0]
    )


def as_rows(found: Any, level: int, like: Rows) -> Any:
    """Distinct rows, or a tuple or list of those, as values."""
    if isinstance(found, Tensor):
        return rows_of([Block(found, level)], like.space)
    if isinstance(found, (tuple, list)):
        return type(found)([as_rows(one, level, like) for one in found])
    return found


def write(rows: Rows, function: Callable[[Tensor], Tensor]) -> Rows:
    """Let rows stand for what ``function`` makes of them, in place."""
    rows.rebind(tuple(Block(function(block.rows), block.level) for block in rows.blocks))
    return rows


def in_place(function: Any, args: Args, kwargs: Kwargs) -> Any:
    """Whatever writes on its first argument: rows come to stand for the result."""
    if not isinstance(args[0], Rows):
        return NotImplemented
    name = IN_PLACE[function.__name__]
    pure = next(getattr(home, name) for home in (Tensor, torch, F) if hasattr(home, name))
    found = ACTS[pure](pure, args, kwargs)
    if found is NotImplemented or not isinstance(found, Rows):
        raise CannotShare(f"{function.__name__} writes on rows in place")
    args[0].rebind(found.blocks)
    return args[0]


def remember_view(function: Any, rows: Rows, found: Any) -> Any:
    """Note where values share memory in torch, so that edits in place are refused."""
    if getattr(function, "__name__", function) in VIEWS:
        for one in found if isinstance(found, (tuple, list)) else [found]:
            if isinstance(one, Rows) and one is not rows:
                root = rows if rows.root is None else rows.root
                one.is_view, one.root = True, root
                root.views.add(one)
    return found


def detach(function: Any, args: Args, kwargs: Kwargs) -> Any:
    return (
        remember_view(function, args[0], unary(function, args, kwargs)) if isinstance(args[0], Rows) else NotImplemented
    )


def of_all_rows(function: Any, args: Args, kwargs: Kwargs) -> Any:
    """What can be said of all rows without making them."""
    return function(*args, **kwargs)


def new_constant(function: Any, args: Args, kwargs: Kwargs) -> Any:
    """Constants of a given shape, which do not depend on the rows."""
    if not isinstance(args[0], Rows):
        return NotImplemented
    return getattr(args[0].blocks[0].rows, function.__name__)(*args[1:], **kwargs)


def refuse(function: Any, args: Args, kwargs: Kwargs) -> Any:
    raise CannotShare(f"{getattr(function, '__name__', function)} reaches past the value")


def register(act: Callable[[Any, Args, Kwargs], Any], *names: str) -> None:
    """``act`` for functions of these names, wherever torch has them."""
    for name in names:
        for home in HOMES:
            found = getattr(home, name, None)
            if callable(found):
                ACTS[found] = act


register(unary, *UNARY)
register(several, *SEVERAL)
register(in_place, *IN_PLACE)
register(detach, "detach")
register(new_constant, "new_zeros", "new_ones", "new_full", "new_empty", "new_tensor")
register(refuse, "register_hook", "retain_grad", "register_post_accumulate_grad_hook", "share_memory_")
register(refuse, "untyped_storage", "storage", "_typed_storage", "data_ptr", "backward")
register(of_all_rows, "requires_grad_", *META)
ACTS.update({getattr(Tensor, name).__get__: of_all_rows for name in META_PROPERTIES if hasattr(Tensor, name)})
GETTERS: dict[str, Any] = {name: getattr(Tensor, name) for name in ("grad_fn", "grad", "data", "requires_grad")}
ACTS[GETTERS["grad_fn"].__get__] = refuse  # hooks can be tied to it
ACTS.update({GETTERS["grad"].__get__: of_all_rows, GETTERS["requires_grad"].__set__: of_all_rows})
ACTS.update({GETTERS["data"].__get__: refuse, GETTERS["data"].__set__: refuse, GETTERS["grad"].__set__: refuse})
