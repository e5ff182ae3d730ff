"""The text format of the GIN paper.

The first line is the number of graphs. Each graph begins with a line ``n label``, followed by one line per node:
``tag degree neighbour neighbour ...``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch
from torch_geometric.data import Data

from dropgnn.errors import DataProblem


def read_gin_text(path: Path) -> list[Data]:
    """Graphs with ``tag`` ``[N]``, ``edge_index`` and the label ``y`` as the file has them."""
    lines = _Lines(path)
    try:
        first = next(lines)
        if len(first) != 1:
            raise ValueError("the number of graphs stands alone on the first line; an edge list ends in .edges or .csv")
        (count,) = first
        graphs = [_read_graph(lines) for _ in range(count)]
    except StopIteration:
        raise DataProblem(f"{path} ends early: line {lines.number + 1} is missing") from None
    except (ValueError, IndexError) as problem:
        raise DataProblem(f"{path}, line {lines.number}: {problem}") from problem
    if any(lines):
        raise DataProblem(f"{path}, line {lines.number}: more than the {count} graphs the first line announces")
    return graphs


def _read_graph(lines: _Lines) -> Data:
    size, label = next(lines)
    if size < 0:
        raise ValueError(f"a graph cannot have {size} nodes")
    tags, edges = [], []
    for node in range(size):
        tag, degree, *neighbors = next(lines)
        if len(neighbors) != degree:
            raise ValueError(f"a node of degree {degree} lists {len(neighbors)} neighbours")
        if any(not 0 <= other < size for other in neighbors):
            raise ValueError(f"a neighbour is not one of the graph's nodes, 0 to {size - 1}")
        tags.append(tag)
        edges += [(other, node) for other in neighbors]
    edge_index = torch.tensor(edges, dtype=torch.long).reshape(-1, 2).t().contiguous()
    return Data(tag=torch.tensor(tags), edge_index=edge_index, y=torch.tensor([label]), num_nodes=size)


class _Lines(Iterator[list[int]]):
    """The numbers of each line, counting lines for error messages."""

    def __init__(self, path: Path) -> None:
        self.number = 0
        self._rest = iter(path.read_text(encoding="utf-8", errors="replace").splitlines())

    def __next__(self) -> list[int]:
        line = next(self._rest)
        self.number += 1
        return [int(word) for word in line.split()]
