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
from dropgnn.files import read_text

TOO_LARGE = 2**63

SHOWN = 40
"""Characters of a wrong line in a message."""


def read_gin_text(path: Path) -> list[Data]:
    """Graphs with ``tag`` ``[N]``, ``edge_index`` and the label ``y`` as the file has them."""
    lines = _Lines(path)
    try:
        first = next(lines)
        if len(first) != 1:
            raise ValueError("the number of graphs stands alone on the first line; an edge list ends in .edges or .csv")
        (count,) = first
        if count < 1:
            raise ValueError(f"there is at least one graph, found {count}")
        graphs = [_read_graph(lines) for _ in range(count)]
        more = any(lines)
    except StopIteration:
        raise DataProblem(f"{path} ends early: line {lines.number + 1} is missing") from None
    except ValueError as problem:
        raise DataProblem(f"{path}, line {lines.number}: {problem}") from problem
    if more:
        raise DataProblem(f"{path}, line {lines.number}: more than the {count} graphs the first line announces")
    return graphs


def _read_graph(lines: _Lines) -> Data:
    head = next(lines)
    if len(head) != 2:
        raise ValueError(f"a graph begins with its number of nodes and its label, found {len(head)} number(s)")
    size, label = head
    if size < 1:
        raise ValueError(f"a graph has at least one node, found {size}; take it out of the file")
    rows = [_read_node(lines, size) for _ in range(size)]
    known = [set(neighbors) for _, neighbors in rows]
    for node, (_, neighbors) in enumerate(rows):
        for other in neighbors:
            if other == node or node not in known[other]:
                lines.number -= size - 1 - node  # back to the node's line
                wrong = "itself" if other == node else f"{other} as a neighbour, but {other} does not list {node}"
                raise ValueError(f"node {node} lists {wrong}")
    edges = [(other, node) for node, (_, neighbors) in enumerate(rows) for other in neighbors]
    edge_index = torch.tensor(edges, dtype=torch.long).reshape(-1, 2).t().contiguous()
    tags = torch.tensor([tag for tag, _ in rows], dtype=torch.long)
    return Data(tag=tags, edge_index=edge_index, y=torch.tensor([label]), num_nodes=size)


def _read_node(lines: _Lines, size: int) -> tuple[int, list[int]]:
    """The tag of a node and its neighbours."""
    row = next(lines)
    if len(row) < 2:
        raise ValueError(f"a node has a tag and a degree, found {len(row)} number(s)")
    tag, degree, *neighbors = row
    if len(neighbors) != degree:
        raise ValueError(f"a node of degree {degree} lists {len(neighbors)} neighbours")
    if any(not 0 <= other < size for other in neighbors):
        raise ValueError(f"a neighbour is not one of the graph's nodes, 0 to {size - 1}")
    if len(set(neighbors)) < degree:
        raise ValueError("a neighbour is listed twice")
    return tag, neighbors


class _Lines(Iterator[list[int]]):
    """The numbers of each line, counting lines for error messages."""

    def __init__(self, path: Path) -> None:
        self.number = 0
        self._rest = iter(read_text(path, errors="replace").splitlines())

    def __next__(self) -> list[int]:
        line = next(self._rest)
        self.number += 1
        try:
            numbers = [int(word) for word in line.split()]
        except ValueError:
            raise ValueError(f"must be whole numbers, found {line[:SHOWN]!r}") from None
        if any(abs(number) >= TOO_LARGE for number in numbers):
            raise ValueError("a number is too large")
        return numbers
