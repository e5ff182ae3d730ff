"""The value an encoder's own ``forward`` runs on: a tensor that stands for all rows of all copies and holds the distinct ones.

To anyone who looks, a :class:`Rows` has the shape of all rows. Functions known to act row by row (``functions/``) act on the
distinct rows. Everything else *expands*: it gets one row per node and copy, as an ordinary tensor, and so does what comes after
it. That is always exact, because a ``Rows`` is also linked to autograd: what reaches it past ``__torch_function__``, such as a
custom autograd function, finds all rows, and gradients are summed per distinct row on their way back.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakSet

import torch
from torch import Tensor
from torch.utils._pytree import tree_any, tree_map
from torch.utils.checkpoint import _StopRecomputationError

if TYPE_CHECKING:
    from dropgnn.engine.spaces import Space

plain_torch = torch._C.DisableTorchFunctionSubclass
"""Within this context functions of torch act on our tensors as on any others."""


def _parameters(function: Any) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


class CannotShare(BaseException):
    """What the forward does has no meaning on distinct rows; it must be run again, copy by copy.

    No ``Exception``: a forward that catches those must not catch this.
    """


class Block(NamedTuple):
    """Distinct rows ``[S_l, ...]`` behind so many layers."""

    rows: Tensor
    level: int


class Lazy(Tensor):
    """A tensor that is made only if something looks at its entries."""

    space: Space

    def full(self) -> Tensor:
        """The ordinary tensor."""
        raise NotImplementedError

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        with plain_torch():
            place = INPLACE.get(function)
            if place is not None and len(args) > place:
                args, kwargs = args[:place], kwargs | {"inplace": args[place]}
            act = (HANDLE_ACTS if args and isinstance(args[0], Handle) else ACTS).get(function)
            if act is not None:
                try:
                    found = act(function, args, kwargs)
                except _StopRecomputationError:  # a checkpoint has what it wanted
                    raise
                except Exception:  # the caller's error, if it is one, is raised by all rows
                    found = NotImplemented
                if found is not NotImplemented:
                    return found
            return expand(function, args, kwargs)

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, function: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if function._schema.is_mutable and args and isinstance(args[0], Lazy):
            raise CannotShare(f"{function} writes on rows in place")
        note(args, f"{function}")
        return function(*tree_map(_entries, args), **tree_map(_entries, kwargs or {}))


class Rows(Lazy):
    """All rows of all copies, by their distinct rows.

    Args:
        blocks: Distinct rows, side by side; each block knows behind how many layers it is.
        space: What the rows are about, nodes or edges.
    """

    blocks: tuple[Block, ...]
    node: Any
    """What autograd had for this value when it was made."""
    views: WeakSet[Rows]
    is_view: bool
    root: Rows | None
    """What it is a view of."""
    opened: Tensor | None
    """All rows, where there are ordinary tensors that share memory with them."""

    @staticmethod
    def __new__(cls, blocks: tuple[Block, ...], space: Space) -> Rows:
        first = blocks[0].rows
        width = [sum(block.rows.size(1) for block in blocks)] if len(blocks) > 1 else list(first.shape[1:])
        made = Tensor._make_wrapper_subclass(cls, (space.num_rows, *width), dtype=first.dtype, device=first.device)
        made.blocks, made.space = blocks, space
        made.node, made.is_view, made.root, made.opened = None, False, None, None
        made.views = WeakSet()
        return made

    @property
    def level(self) -> int:
        """Behind how many layers the rows are."""
        return max(block.level for block in self.blocks)

    def distinct(self, level: int | None = None) -> Tensor:
        """All columns of the distinct rows behind ``level`` layers, ``[S_l, ...]``."""
        level = self.level if level is None else level
        parts = [self.space.lift(block.rows, block.level, level) for block in self.blocks]
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)

    def full(self) -> Tensor:
        """One row for each row of all copies. Not kept: a checkpoint that recomputes must find the same history."""
        with plain_torch():
            if self.opened is not None:
                return self.opened
            if self.was_touched:
                return _Open.apply(self)
            parts = [block.rows.index_select(0, self.space.index(block.level)) for block in self.blocks]
            return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)

    @property
    def was_touched(self) -> bool:
        """Whether its autograd history changed since it was made: the rows must then be read through that history."""
        with plain_torch():
            other = self.grad_fn is not self.node or (self.node is None and self.requires_grad)
        return other or self.opened is not None

    def spread(self) -> None:
        """Stand for an ordinary tensor from now on: others share its memory, and may write on it."""
        if self.is_view or len(self.views):
            raise CannotShare("there are views of rows, of which other views are taken")
        with torch.enable_grad():
            self.opened = self.full()

    def rebind(self, blocks: tuple[Block, ...]) -> None:
        """Stand for other rows: what an edit in place means, as long as no view of the rows lives."""
        if self.is_view or self.was_touched or len(self.views):
            raise CannotShare("rows of which there are views are edited in place")
        if self.node is not None and not torch.is_grad_enabled():
            raise CannotShare("rows are edited in place without a gradient of the edit")
        made = rows_of(blocks, self.space)
        if made.shape != self.shape or made.dtype != self.dtype:
            raise CannotShare("rows are edited in place to another shape or dtype")
        if made.node is not None:
            _Rebind.apply(self, made)
            self.node = self.grad_fn
        self.blocks = blocks

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return f"Rows({tuple(self.shape)}, {[tuple(block.rows.shape) for block in self.blocks]} distinct)"

    def __deepcopy__(self, memo: Any) -> Tensor:
        return self.full().detach().clone() if not self.requires_grad else self.full().__deepcopy__(memo)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.full().detach().__reduce_ex__(protocol)


class Handle(Lazy):
    """A tensor for all copies that hardly anybody looks into, such as their edges.

    Args:
        shape: Of the tensor.
        like: A tensor of its dtype and device.
        space: What the rows beside it are about.
        make: Makes it.
        role: Which input of the encoder it is, if it is one.
    """

    make: Callable[[], Tensor]
    made: Tensor | None
    version: int
    role: str
    mapped: Callable[[Tensor, Tensor | None], Rows]

    @staticmethod
    def __new__(
        cls, shape: Sequence[int], like: Tensor, space: Space, make: Callable[[], Tensor], role: str = ""
    ) -> Handle:
        handle = Tensor._make_wrapper_subclass(cls, tuple(shape), dtype=like.dtype, device=like.device)
        handle.space, handle.make, handle.role, handle.made = space, make, role, None
        return handle

    def full(self) -> Tensor:
        if self.made is None:
            with plain_torch():
                self.made = self.make()
            self.version = self.made._version
        return self.made

    @property
    def was_edited(self) -> bool:
        """Whether the tensor was modified since it was made."""
        return self.made is not None and self.made._version != self.version

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return f"Handle({self.role or 'tensor'}, {tuple(self.shape)})"

    def __deepcopy__(self, memo: Any) -> Tensor:
        return self.full().clone()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.full().__reduce_ex__(protocol)


ACTS: dict[Any, Callable[[Any, Sequence[Any], dict[str, Any]], Any]] = {}
"""What functions do with lazy tensors: called with (function, args, kwargs), they return what the function would, or
``NotImplemented`` where rows must be expanded. Filled by ``functions/`` and ``handles.py``."""

HANDLE_ACTS: dict[Any, Callable[[Any, Sequence[Any], dict[str, Any]], Any]] = {}
"""Likewise for functions whose first argument is a :class:`Handle`."""


def rows_of(blocks: Sequence[Block], space: Space) -> Rows:
    """A value for these rows, linked to autograd where gradients are wanted."""
    blocks = tuple(blocks)
    with plain_torch():
        if torch.is_grad_enabled() and any(block.rows.requires_grad for block in blocks):
            made = _Link.apply(space, tuple(block.level for block in blocks), *(block.rows for block in blocks))
            made.blocks, made.node = blocks, made.grad_fn
            return made
        return Rows(blocks, space)


def expand(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Call a function with all rows instead of the distinct ones."""
    name = getattr(function, "__name__", str(function))
    if _writes(name, args, kwargs):
        raise CannotShare(f"{name} writes on rows or edges in place")
    if tree_any(lambda value: isinstance(value, Rows), (args, kwargs)):
        note((args, kwargs), name)
    if args and isinstance(args[0], Lazy) and name in SHARE_MEMORY and not _copies(name, args):
        first = args[0]
        if isinstance(first, Rows) and first.opened is None:
            first.spread()
        elif isinstance(first, Handle) and name in ("numpy", "__array__"):  # an edit would leave no trace
            raise CannotShare(f"{name} shares the memory of edges")
    return function(*tree_map(full, args), **tree_map(full, kwargs))


SHARE_MEMORY = frozenset((
    "__getitem__", "t", "view", "view_as", "reshape", "reshape_as", "squeeze", "unsqueeze", "select", "narrow", "transpose",
    "swapaxes", "swapdims", "permute", "movedim", "moveaxis", "expand", "expand_as", "broadcast_to", "unbind", "split", "chunk",
    "tensor_split", "hsplit", "vsplit", "diagonal", "flatten", "unflatten", "unfold", "as_strided", "ravel", "detach", "numpy",
    "__array__", "adjoint", "contiguous", "to", "type", "float", "double", "view_as_real", "alias", "__iter__", "__get__",
))  # fmt: skip
"""Functions whose result may share memory with their argument, so that an edit of one is seen in the other."""

INPLACE = {
    function: place
    for function in vars(torch.nn.functional).values()
    if callable(function)
    for place, name in enumerate(_parameters(function))
    if name == "inplace"
}
"""Functions that write on their argument where asked to, and the place of that argument."""


def _copies(name: str, args: Sequence[Any]) -> bool:
    """Whether indexing makes a copy: by lists, masks and tensors."""
    if name != "__getitem__" or len(args) < 2:
        return False
    parts = args[1] if isinstance(args[1], tuple) else (args[1],)
    return any(isinstance(one, (list, Tensor)) for one in parts)


def full(value: Any) -> Any:
    """The ordinary tensor behind a lazy one; anything else as it is."""
    return value.full() if isinstance(value, Lazy) else value


def note(values: Any, what: str) -> None:
    """Remember where sharing ended."""
    spaces: list[Space] = []
    tree_map(lambda value: spaces.append(value.space) if isinstance(value, Rows) else None, values)
    if spaces:
        spaces[0].note(what)


def _writes(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Whether a function writes on its first argument, or on ``out``, and that is lazy."""
    name = name.split(".")[0]
    in_place = name in ("__setitem__", "set_", "__set__") or (name.endswith("_") and not name.endswith("__"))
    in_place = in_place or name.startswith("_foreach") or kwargs.get("inplace") is True
    in_place = in_place or (name.startswith("__i") and name not in ("__index__", "__invert__", "__int__"))
    first = args[0] if args else None
    return (in_place and tree_any(lambda v: isinstance(v, Lazy), first)) or tree_any(
        lambda v: isinstance(v, Lazy), kwargs.get("out")
    )


def _entries(value: Any) -> Any:
    """All rows without history, for what runs below autograd."""
    if not isinstance(value, Lazy):
        return value
    with plain_torch():
        if not isinstance(value, Rows):
            return value.full()
        parts = [block.rows.detach().index_select(0, value.space.index(block.level)) for block in value.blocks]
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)


class _Link(torch.autograd.Function):
    """Distinct rows to a value that stands for all rows."""

    @staticmethod
    def forward(ctx: Any, space: Space, levels: tuple[int, ...], *tensors: Tensor) -> Rows:
        ctx.space, ctx.levels = space, levels
        ctx.sizes = [tensor.shape for tensor in tensors]
        return Rows(tuple(map(Block, (tensor.detach() for tensor in tensors), levels)), space)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        return None, None, *_sum_per_state(gradients[0], ctx.space, ctx.levels, ctx.sizes)


class _Rebind(torch.autograd.Function):
    """Give a value the history of another that it now stands for."""

    @staticmethod
    def forward(ctx: Any, rows: Rows, made: Rows) -> Rows:
        ctx.mark_dirty(rows)
        return rows

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        return None, gradients[0]


class _Open(torch.autograd.Function):
    """All rows, through the value's own history."""

    @staticmethod
    def forward(ctx: Any, rows: Rows) -> Tensor:
        return _entries(rows)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        return gradients[0]


def _sum_per_state(gradient: Tensor, space: Space, levels: Sequence[int], sizes: Sequence[torch.Size]) -> list[Tensor]:
    """The gradient of every distinct row: the sum over all rows it stands for."""
    found, first = [], 0
    for level, size in zip(levels, sizes, strict=True):
        part = gradient if len(levels) == 1 else gradient[:, first : first + size[1]]
        first += size[1] if len(levels) > 1 else 0
        found.append(gradient.new_zeros(size).index_add(0, space.index(level), part))
    return found
