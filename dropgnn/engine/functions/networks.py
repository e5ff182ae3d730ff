"""Linear maps, dropout, embeddings and recurrent cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch.nn.functional as F
from torch import Tensor

from dropgnn.engine.functions.entries import aligned, as_rows, on_distinct, register
from dropgnn.engine.row_norm import batch_norm
from dropgnn.engine.rows import ACTS, Block, CannotShare, Handle, Lazy, Rows, note, rows_of

Args = Sequence[Any]
Kwargs = dict[str, Any]


def linear(function: Any, args: Args, kwargs: Kwargs) -> Any:
    """A linear map, block by block: mapped rows are lifted, not those to be mapped."""
    names = dict(zip(("input", "weight", "bias"), args, strict=False)) | kwargs
    rows, weight, bias = names["input"], names["weight"], names.get("bias")
    if (
        not isinstance(rows, Rows)
        or isinstance(weight, Lazy)
        or isinstance(bias, Lazy)
        or rows.was_touched
        or rows.dim() < 2
    ):
        return NotImplemented
    if len(rows.blocks) == 1:
        return rows_of([Block(F.linear(rows.blocks[0].rows, weight, bias), rows.level)], rows.space)
    return _sum_of_blocks(rows, weight.split([block.rows.size(1) for block in rows.blocks], dim=1), bias)


def _sum_of_blocks(rows: Rows, weights: Sequence[Tensor], bias: Tensor | None) -> Rows:
    total, level = None, 0
    for block, weight in sorted(zip(rows.blocks, weights, strict=True), key=lambda pair: pair[0].level):
        mapped = F.linear(block.rows, weight)
        total = mapped if total is None else rows.space.lift(total, level, block.level) + mapped
        level = block.level
    assert total is not None
    return rows_of([Block(total if bias is None else total + bias, level)], rows.space)


def matmul(function: Any, args: Args, kwargs: Kwargs) -> Any:
    """Rows times a matrix that is the same for all, or row by row products of three dimensions."""
    if kwargs or len(args) != 2 or not isinstance(args[0], Rows) or args[0].was_touched:
        return NotImplemented
    left, right = args
    if isinstance(right, Rows):
        both = left.dim() >= 3 and right.dim() == left.dim() and left.space is right.space and not right.was_touched
        return on_distinct(function, args, kwargs, [left, right]) if both else NotImplemented
    if not isinstance(right, Tensor) or isinstance(right, Lazy) or left.dim() < 2 or right.dim() > 2:
        return NotImplemented
    if len(left.blocks) > 1 and right.dim() == 2:
        parts = right.split([block.rows.size(1) for block in left.blocks])
        return _sum_of_blocks(left, [part.t() for part in parts], None)
    return on_distinct(function, args, kwargs, [left])


def dropout(function: Any, args: Args, kwargs: Kwargs) -> Any:
    """Ordinary dropout of features: nothing in evaluation; while training, noise that every row wants for itself."""
    names = dict(zip(("p", "training", "inplace"), args[1:], strict=False)) | kwargs
    if not isinstance(args[0], Rows):
        return NotImplemented
    if not names.get("training", names.get("train", True)) or names.get("p", 0.5) == 0:
        return args[0]
    if names.get("inplace"):
        raise CannotShare(f"{function.__name__} writes on rows in place")
    note(args[0], "dropout while training")
    return NotImplemented


def embedding(function: Any, args: Args, kwargs: Kwargs) -> Any:
    """Rows of a table."""
    order = ("input", "weight", "padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "sparse")
    names = dict(zip(order, args, strict=False)) | kwargs
    rows = names["input"]
    counts = names.get("max_norm") is not None or names.get("scale_grad_by_freq") or names.get("sparse")
    if not isinstance(rows, Rows) or rows.was_touched or counts or isinstance(names["weight"], Lazy):
        return NotImplemented
    return on_distinct(function, args, kwargs, [rows])


def one_hot(function: Any, args: Args, kwargs: Kwargs) -> Any:
    """Categories as columns, where their number is given."""
    classes = kwargs.get("num_classes", args[1] if len(args) > 1 else -1)
    if not isinstance(args[0], Rows) or args[0].was_touched or not isinstance(classes, int) or classes < 0:
        return NotImplemented
    return on_distinct(function, args, kwargs, [args[0]])


def cell(function: Any, args: Args, kwargs: Kwargs) -> Any:
    """Recurrent cells: every row has its own state; one that starts with zeros starts so on distinct rows."""
    if kwargs or len(args) < 4 or not isinstance(args[0], Rows) or args[0].dim() != 2:
        return NotImplemented
    hidden = list(args[1]) if isinstance(args[1], (tuple, list)) else [args[1]]
    hidden = [_zeros(one, args[0]) if type(one) is Tensor else one for one in hidden]
    rows = [args[0], *hidden]
    if not all(isinstance(one, Rows) for one in rows) or not aligned(rows, rows):
        return NotImplemented
    level, space = max(one.level for one in rows), args[0].space
    x, *states = (space.lift(one.distinct(), one.level, level) for one in rows)
    given = type(args[1])(states) if isinstance(args[1], (tuple, list)) else states[0]
    return as_rows(function(x, given, *args[2:]), level, args[0])


def _zeros(hidden: Tensor, rows: Rows) -> Tensor:
    if hidden.dim() != 2 or hidden.size(0) != rows.size(0) or hidden.requires_grad or bool(hidden.any()):
        return hidden
    return rows_of(
        [Block(hidden.new_zeros(rows.blocks[0].rows.size(0), hidden.size(1)), rows.blocks[0].level)], rows.space
    )


def lstm(function: Any, args: Args, kwargs: Kwargs) -> Any:
    """A sequence of its own for every row: an LSTM or GRU with the rows as its batch."""
    if kwargs or len(args) != 9 or not isinstance(args[0], Rows) or args[0].dim() != 3 or args[0].was_touched:
        return NotImplemented
    rows, hidden, weights, bias, layers, drop, training, both, batch_first = args
    starts = list(hidden) if isinstance(hidden, (tuple, list)) else [hidden]
    if (
        batch_first is not True
        or (training and drop)
        or any(isinstance(one, Lazy) or one.requires_grad or bool(one.any()) for one in starts)
    ):
        return NotImplemented
    distinct = rows.distinct()
    given = [one.new_zeros(one.size(0), distinct.size(0), one.size(2)) for one in starts]
    found = function(
        distinct,
        type(hidden)(given) if isinstance(hidden, (tuple, list)) else given[0],
        weights,
        bias,
        layers,
        drop,
        training,
        both,
        batch_first,
    )
    ends = [_in_second_dimension(one, rows) for one in (found[1:] if isinstance(hidden, (tuple, list)) else [found[1]])]
    return (rows_of([Block(found[0], rows.level)], rows.space), *ends)


def _in_second_dimension(states: Tensor, rows: Rows) -> Tensor:
    """The last states of a recurrent network, ``[layers, rows, F]``, which hardly anybody looks at."""
    if states.requires_grad:
        return states.index_select(1, rows.space.index(rows.level))
    shape = (states.size(0), rows.size(0), states.size(2))
    index = rows.space.index
    return Handle(shape, states, rows.space, lambda: states.index_select(1, index(rows.level)))


register(linear, "linear")
register(matmul, "matmul", "mm", "bmm", "__matmul__")
register(dropout, "dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout", "dropout1d")
ACTS[F.batch_norm], ACTS[F.embedding] = batch_norm, embedding
register(one_hot, "one_hot")
register(cell, "gru_cell", "lstm_cell", "rnn_tanh_cell", "rnn_relu_cell")
register(lstm, "lstm", "gru")
