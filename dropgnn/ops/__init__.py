"""Operations on arrays, in two versions with the same names and arguments: compiled loops for the CPU, and torch for all else.

``ops_for`` is the only place that chooses between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

import torch
from torch import Tensor

from dropgnn.compiling import worth_compiling
from dropgnn.ops import numba_ops, torch_ops

DTYPES = (torch.float32, torch.float64)
"""Of the rows that compiled loops take."""


def ops_for(like: Tensor | Sequence[Tensor], work: int) -> ModuleType:
    """The operations for such tensors and so much work, in rows of all copies together.

    Compiled loops are for the CPU, for indices and for rows of one dtype, single or double precision, that no autocast changes;
    and only where there is enough work to be worth compiling for.
    """
    tensors = (like,) if isinstance(like, Tensor) else like
    floats = {one.dtype for one in tensors if one.is_floating_point()}
    fits = len(floats) <= 1 and floats <= {*DTYPES} and all(one.is_cpu for one in tensors)
    if fits and floats:
        fits = not torch.is_autocast_enabled("cpu")
    return numba_ops if fits and worth_compiling(work) else torch_ops
