"""Graphs out of files a user has: graph6, GraphML, edge lists, and the text format of the GIN paper."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import torch
from torch_geometric.data import Data

from dropgnn.data.gin_text import read_gin_text
from dropgnn.errors import DataProblem
from dropgnn.files import read_text
from dropgnn.registry import Registry


def read_graphs(path: Path) -> list[Data]:
    """All graphs of a file; its ending says how it is written."""
    if path.is_dir():
        raise DataProblem(f"{path} is a folder; name a file in it")
    if not path.is_file():
        raise DataProblem(f"there is no file {path}")
    if path.suffix not in READERS:
        raise DataProblem(f"{path} has the ending '{path.suffix}'; known are {', '.join(READERS)}")
    graphs = READERS[path.suffix](path)
    if not graphs:
        raise DataProblem(f"{path} holds no graph")
    return graphs


def read_edge_list(path: Path) -> list[Data]:
    """One graph: two node names per line, separated by blanks, a comma or a semicolon; a single name is an isolated node.

    Names are numbered in the order they appear. An edge may be named once, or in both directions. ``#`` and ``%`` begin a
    comment, and a first line of words above lines of numbers is a heading. The empty ``{}`` that networkx writes behind an
    edge is skipped; other columns are refused.
    """
    rows = [(count, _names(line)) for count, line in enumerate(_lines(path), start=1)]
    rows = [(count, names) for count, names in rows if names]
    if (
        len(rows) > 1
        and not _is_number(rows[0][1][0])
        and all(_is_number(name) for _, names in rows[1:] for name in names[:2])
    ):
        rows = rows[1:]
    numbers: dict[str, int] = {}
    edges = []
    for count, names in rows:
        if len(names) > 2:
            raise DataProblem(
                f"{path}, line {count}: an edge has two ends, found {len(names)} columns; keep the first two (weights and "
                "features have no part in a plan)"
            )
        ends = [numbers.setdefault(name, len(numbers)) for name in names]
        if len(ends) == 2:
            edges.append(ends)
    return [_data(len(numbers), edges)] if numbers else []


def _names(line: str) -> list[str]:
    return re.split(r"[#%]", line)[0].replace("{}", " ").replace(",", " ").replace(";", " ").split()


def _is_number(name: str) -> bool:
    return re.fullmatch(r"[+-]?\d+(\.\d+)?", name) is not None


def read_graph6(path: Path) -> list[Data]:
    """One graph per line."""
    graphs = []
    for count, line in enumerate(_lines(path), start=1):
        code = line.strip().removeprefix(">>graph6<<")
        if not code:
            continue
        try:
            graphs.append(_from_networkx(nx.from_graph6_bytes(code.encode())))
        except (nx.NetworkXError, ValueError, IndexError) as problem:
            raise DataProblem(f"{path}, line {count}: not a graph6 code ({problem})") from problem
    return graphs


def read_graphml(path: Path) -> list[Data]:
    """One graph."""
    try:
        return [_from_networkx(nx.read_graphml(path))]
    except (
        nx.NetworkXError,
        ArithmeticError,
        AttributeError,
        LookupError,
        SyntaxError,
        TypeError,
        ValueError,
    ) as problem:
        raise DataProblem(f"{path} is not GraphML ({problem})") from problem


READERS = Registry[Callable[[Path], list[Data]]](
    "ending",
    {
        ".g6": read_graph6,
        ".graphml": read_graphml,
        ".edges": read_edge_list,
        ".edgelist": read_edge_list,
        ".csv": read_edge_list,
        ".txt": read_gin_text,
    },
)


def _lines(path: Path) -> list[str]:
    return read_text(path).splitlines()


def _from_networkx(graph: nx.Graph) -> Data:
    numbers = {node: number for number, node in enumerate(graph)}
    return _data(len(graph), [[numbers[a], numbers[b]] for a, b in graph.edges()], directed=graph.is_directed())


def _data(num_nodes: int, edges: list[list[int]], *, directed: bool = False) -> Data:
    """A simple graph: an edge that is named twice, or in both directions of an undirected graph, is one."""
    named = dict.fromkeys(tuple(ends) if directed else (min(ends), max(ends)) for ends in edges)
    one_way = torch.tensor(list(named), dtype=torch.long).reshape(-1, 2).t()
    back = one_way.flip(0)[:, one_way[0] != one_way[1]]
    edge_index = one_way if directed else torch.cat([one_way, back], dim=1)
    return Data(edge_index=edge_index.contiguous(), num_nodes=num_nodes)
