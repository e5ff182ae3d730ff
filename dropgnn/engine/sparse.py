"""Sparse products with both the matrix and its transpose at hand, so that neither direction scatters."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dropgnn.engine import compiled_maps


@dataclass(frozen=True, eq=False)
class SparseMap:
    """A sparse matrix ``[rows, columns]`` that maps matrices ``[columns, F]`` to ``[rows, F]``, and its transpose."""

    forward: Tensor
    backward: Tensor

    @classmethod
    def of(cls, triples: tuple[np.ndarray, np.ndarray, np.ndarray], shape: tuple[int, int], like: Tensor) -> SparseMap:
        """From triples (row, column, value); entries that name the same place add up.

        Args:
            triples: Three arrays ``[K]``.
            shape: Rows and columns.
            like: A tensor with the dtype and on the device to use.
        """
        row_ptr, by_row, row_value, column_ptr, by_column, column_value = compiled_maps.both_orders(*triples, *shape)
        return cls(
            _csr(row_ptr, by_row, row_value, shape, like),
            _csr(column_ptr, by_column, column_value, (shape[1], shape[0]), like),
        )

    def __matmul__(self, x: Tensor) -> Tensor:
        return _Product.apply(x, self.forward, self.backward)


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, matrix: Tensor, transpose: Tensor) -> Tensor:
        ctx.transpose = transpose
        return matrix @ x

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        return ctx.transpose @ gradients[0].contiguous(), None, None


def _csr(ptr: np.ndarray, index: np.ndarray, value: np.ndarray, shape: tuple[int, int], like: Tensor) -> Tensor:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(
            torch.from_numpy(ptr).to(like.device),
            torch.from_numpy(index).to(like.device),
            torch.from_numpy(value).to(like.device, like.dtype),
            size=shape,
            check_invariants=False,
        )
