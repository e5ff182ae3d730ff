"""Rows that are zero wherever they are read: what mode ``zero-layers`` does to dropped nodes.

A layer or a pooling finds zeros in place of a dropped node's row, and so does whoever gets the encoder's rows. What is computed
in between, batch statistics among it, sees the rows as they were computed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import cached_property, lru_cache
from itertools import chain, repeat
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map

from dropgnn.engine.rows import Block, Handle, Rows, rows_of

POOLINGS = frozenset(
    getattr(home, name)
    for home in (torch, Tensor)
    for name in ("scatter_add", "scatter_add_", "scatter_reduce", "scatter_reduce_", "index_add", "index_add_")
    if hasattr(home, name)
)
"""Functions called with ``(out, dim, index, rows, ...)``."""

ONES = frozenset((Tensor.new_ones, torch.ones, torch.ones_like))
"""Of which rows are counted: a dropped node is still there."""

_current: ContextVar[Zeroing | None] = ContextVar("zeroing", default=None)


class Zeroing(TorchFunctionMode):
    """Within this context layers and poolings find zeros in place of dropped rows.

    Args:
        dropped: Makes a mask over the rows of all nodes, ``[M]``.
        batch: Makes the graph of each of them, ``[M]``.
        kept: Tensors that are no rows of the encoder's, such as positions: they are read as they are.
    """

    def __init__(self, dropped: Callable[[], Tensor], batch: Callable[[], Tensor], kept: Sequence[Tensor] = ()) -> None:
        super().__init__()
        self._dropped, self.batch, self.kept = dropped, batch, list(kept)

    @cached_property
    def dropped(self) -> Tensor:
        return self._dropped()

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if function in POOLINGS and len(args) > 3 and _current.get() is self and self._is_batch(args[2]):
            args = (*args[:3], self.read(args[3]), *args[4:])
        found = function(*args, **kwargs)
        if function in ONES:
            self.kept.append(found)
        return found

    def read(self, value: Any) -> Any:
        """A value as a layer finds it."""
        if not isinstance(value, Tensor) or isinstance(value, Handle) or any(value is one for one in self.kept):
            return value
        if isinstance(value, Rows) and not value.was_touched:
            sharing = value.space.sharing
            if value.space is not sharing.nodes:
                return value
            return rows_of(
                [Block(_zeroed(block.rows, sharing.dropped(block.level)), block.level) for block in value.blocks],
                value.space,
            )
        wanted = value.is_floating_point() and value.dim() > 0 and value.size(0) == self.dropped.numel()
        return _zeroed(value, self.dropped) if wanted else value

    def call(
        self, run: Callable[..., Any], module: torch.nn.Module, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> Any:
        """Call a layer or an aggregation with what it finds; what it does inside is its own affair. Arguments that are called
        after edges are about those, of which there may be as many as nodes."""
        names = chain(
            _names(type(module)),  # type: ignore[arg-type]
            repeat(""),
        )
        args = [self._given(name, value) for name, value in zip(names, args, strict=False)]
        kwargs = {name: self._given(name, value) for name, value in kwargs.items()}
        token = _current.set(None)
        try:
            return run(module, *args, **kwargs)
        finally:
            _current.reset(token)

    def _given(self, name: str, value: Any) -> Any:
        return value if name.startswith("edge") else tree_map(self.read, value)

    def _is_batch(self, index: Any) -> bool:
        if isinstance(index, Handle):
            return index.role == "batch" and not index.was_edited
        if not isinstance(index, Tensor) or index.dim() == 0 or index.size(0) != self.dropped.numel():
            return False
        return torch.equal(index.flatten(1)[:, 0] if index.dim() > 1 else index, self.batch())


@lru_cache(maxsize=512)
def _names(kind: type[torch.nn.Module]) -> list[str]:
    """What a module calls its arguments."""
    return [
        name for name, one in inspect.signature(kind.forward).parameters.items() if one.kind is not one.VAR_POSITIONAL
    ][1:]


def current() -> Zeroing | None:
    """What zeroes rows now, outside of layers."""
    return _current.get()


@contextmanager
def _zeroing(zeroing: Zeroing) -> Iterator[Zeroing]:
    token = _current.set(zeroing)
    try:
        with zeroing:
            yield zeroing
    finally:
        _current.reset(token)


def zeroing(
    dropped: Callable[[], Tensor] | None, batch: Callable[[], Tensor], kept: Sequence[Tensor] = ()
) -> AbstractContextManager[Zeroing | None]:
    """The context to run an encoder in; nothing where no rows are zero."""
    return nullcontext() if dropped is None else _zeroing(Zeroing(dropped, batch, kept))


def _zeroed(x: Tensor, dropped: Tensor) -> Tensor:
    return x.masked_fill(dropped.view(-1, *[1] * (x.dim() - 1)), 0.0)
