"""What the paper's rivals add to a graph: port numbers, node IDs, a random feature.

Ports number the edges at each node. They are an edge feature: the edge from u to v carries the port by which u sends.
IDs and random features are further columns of ``x``. All of them combine with dropouts.
"""

from __future__ import annotations

import copy

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data


def random_ports(edge_index: np.ndarray, num_nodes: int, rng: np.random.Generator) -> np.ndarray:
    """Every node numbers its outgoing edges 1, 2, ..., in random order, shape ``[E]``."""
    sender = edge_index[0]
    shuffled = np.lexsort((rng.random(sender.size), sender))
    degree = np.bincount(sender, minlength=num_nodes)
    first = np.cumsum(degree) - degree
    ports = np.empty(sender.size, dtype=np.int64)
    ports[shuffled] = np.arange(sender.size) - first[sender[shuffled]] + 1
    return ports


def with_ids(data: Data, generator: torch.Generator, *, together: bool = False) -> Data:
    """``data`` with a further column in x: in every graph a random permutation of 0, 1, ..., n - 1.

    With ``together`` it is one permutation over the nodes of all graphs.
    """
    number = data.x.size(0)
    batch = None if together else getattr(data, "batch", None)
    batch = torch.zeros(number, dtype=torch.long) if batch is None else batch
    shuffled = (batch.double() * 2 + torch.rand(number, generator=generator, dtype=torch.float64)).argsort()
    sizes = torch.bincount(batch)
    ids = torch.empty(number, dtype=torch.long)
    ids[shuffled] = torch.arange(number) - torch.repeat_interleave(sizes.cumsum(0) - sizes, sizes)
    return _with_column(data, ids.unsqueeze(1))


def with_random_feature(data: Data, generator: torch.Generator, *, published: bool = False) -> Data:
    """``data`` with a further column in x, to be drawn anew for every forward pass.

    Standard normal, as the paper says; with ``published`` 0.00, 0.01, ..., 0.99 as its code has it.
    """
    number = data.x.size(0)
    if published:
        return _with_column(data, torch.randint(0, 100, (number, 1), generator=generator) / 100.0)
    return _with_column(data, torch.randn(number, 1, generator=generator))


def _with_column(data: Data, column: Tensor) -> Data:
    augmented = copy.copy(data)
    augmented.x = torch.cat([data.x, column.to(data.x)], dim=1)
    return augmented
