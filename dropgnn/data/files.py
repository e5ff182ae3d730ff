"""Graphs out of files a user has: graph6, GraphML, edge lists, and the text format of the GIN paper."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dropgnn.errors import DataProblem
from dropgnn.files import as_path, read_text
from dropgnn.registry import Registry

if TYPE_CHECKING:  # these take seconds to import, and a wrong file is to be answered at once
    import networkx as nx
    from torch_geometric.data import Data

Ends = tuple[int, int]
Attributes = dict[str, Any]

LONGEST_CODE = 1 << 24
"""Characters of a graph6 code that is read, bit by bit: those of 14,000 nodes."""

EDGES_INSTEAD = "write so large a graph as a list of edges, which ends in .edges"

SHOWN = 40
"""Characters of a wrong line in a message."""


def check_graph_file(path: Path) -> None:
    """Whether there is such a file, with an ending that we know; reading it takes imports that take seconds."""
    if path.is_dir():
        raise DataProblem(f"{path} is a folder; name a file in it")
    if not path.is_file():
        raise DataProblem(f"there is no file {path}")
    if path.suffix not in READERS:
        raise DataProblem(f"{path} has the ending '{path.suffix}'; known are {', '.join(READERS)}")


def read_graphs(path: Path | str) -> list[Data]:
    """All graphs of a file; its ending says how it is written.

    Attributes in GraphML become ``node_attributes`` and ``edge_attributes`` of a graph, one dictionary for each node and each
    edge of ``edge_index``, where there are any.
    """
    path = as_path("path", path)
    check_graph_file(path)
    graphs = READERS[path.suffix](path)
    if not graphs:
        raise DataProblem(f"{path} holds no graph")
    return graphs


HEADINGS = frozenset(
    {"source target", "src dst", "from to", "sender receiver", "head tail", "start end"}
    | {f"{name}{one} {name}{two}" for name in ("", "node", "id", "vertex") for one, two in ("12", "ab", "uv", "ij")}
)
"""Headings of lists of edges, in small letters, without other signs."""


def read_edge_list(path: Path) -> list[Data]:
    """One graph: two node names per line, separated by blanks, a comma or a semicolon; a single name is an isolated node.

    Names are numbered in the order they appear. An edge may be named once, or in both directions. ``#`` and ``%`` begin a
    comment, and a first line such as ``source target`` above lines of numbers is a heading. The empty ``{}`` that networkx
    writes behind an edge is skipped; other columns are refused.
    """
    rows = _rows(path)
    if (
        len(rows) > 1
        and not any(map(_is_number, rows[0][1]))
        and all(_is_number(name) for _, row in rows[1:] for name in row)
    ):
        _check_heading(path, *rows.pop(0))
    return _from_rows(path, rows)


def read_csv(path: Path) -> list[Data]:
    """One graph: two numbers of nodes per line, separated by a comma, a semicolon or a blank.

    The first line may be a heading such as ``source,target``. Tables of anything else are refused: a table of labels must not
    be taken for a graph. Lists of edges with names, or with isolated nodes, end in ``.edges``.
    """
    rows = _rows(path)
    if rows and not any(map(_is_number, rows[0][1])):
        _check_heading(path, *rows.pop(0))
    for count, names in rows:
        if len(names) == 1 or not all(map(_is_number, names[:2])):
            raise DataProblem(
                f"{path}, line {count}: a .csv file must list edges as two whole numbers, found '{', '.join(names)[:SHOWN]}'; "
                "edges between nodes with names, and isolated nodes, go into a file that ends in .edges"
            )
    return _from_rows(path, rows)


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    """The lines that say something, with their numbers, in columns."""
    rows = ((count, _names(line)) for count, line in enumerate(_lines(path), start=1))
    return [(count, names) for count, names in rows if names]


def _check_heading(path: Path, count: int, names: list[str]) -> None:
    if " ".join(re.sub(r"[^a-z0-9]", "", name.lower()) for name in names) not in HEADINGS:
        raise DataProblem(
            f"{path}, line {count}: '{', '.join(names)[:SHOWN]}' is not the heading of a list of edges; such a file has two "
            "columns, source and target"
        )


def _from_rows(path: Path, rows: list[tuple[int, list[str]]]) -> list[Data]:
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
            edges.append((ends[0], ends[1]))
    return [_data(len(numbers), edges)] if numbers else []


def _names(line: str) -> list[str]:
    return re.split(r"[#%]", line)[0].replace("{}", " ").replace(",", " ").replace(";", " ").replace('"', " ").split()


def _is_number(name: str) -> bool:
    return re.fullmatch(r"[0-9]+", name) is not None


def read_graph6(path: Path) -> list[Data]:
    """One graph per line."""
    import networkx as nx

    graphs = []
    for count, line in enumerate(_lines(path), start=1):
        code = line.strip().removeprefix(">>graph6<<")
        if not code:
            continue
        if len(code) > LONGEST_CODE:
            raise DataProblem(f"{path}, line {count}: a graph6 code of {len(code):,} characters; {EDGES_INSTEAD}")
        try:
            graphs.append(_from_networkx(nx.from_graph6_bytes(code.encode())))
        except (nx.NetworkXError, ValueError, IndexError) as problem:
            raise DataProblem(f"{path}, line {count}: not a graph6 code ({problem})") from problem
    return graphs


def read_graphml(path: Path) -> list[Data]:
    """One graph, with its attributes."""
    import networkx as nx

    try:
        return [_from_networkx(nx.read_graphml(path))]
    except (
        nx.NetworkXException,
        ValueError,
        LookupError,
        SyntaxError,
        TypeError,
        AttributeError,
        RecursionError,
        ArithmeticError,
    ) as problem:
        raise DataProblem(f"{path} is not GraphML ({problem})") from problem


def _read_gin_text(path: Path) -> list[Data]:
    from dropgnn.data.gin_text import read_gin_text

    return read_gin_text(path)


READERS: Registry[Callable[[Path], list[Data]]] = Registry(
    "ending",
    {
        ".g6": read_graph6,
        ".graphml": read_graphml,
        ".edges": read_edge_list,
        ".edgelist": read_edge_list,
        ".csv": read_csv,
        ".txt": _read_gin_text,
    },
)


def _lines(path: Path) -> list[str]:
    text = read_text(path)
    if "\0" in text:
        raise DataProblem(f"{path} is not a text file: it has null characters")
    return text.splitlines()


def _from_networkx(graph: nx.Graph) -> Data:
    """The default values of attributes are those of the file; networkx keeps them apart, and adds the ids of edges."""
    numbers = {node: number for number, node in enumerate(graph)}
    defaults = [graph.graph.get(f"{what}_default", {}) for what in ("node", "edge")]
    nodes = [{**defaults[0], **found} for _, found in graph.nodes(data=True)]
    edges: dict[Ends, list[Attributes]] = {}
    for a, b, found in graph.edges(data=True):
        mine = {name: value for name, value in {**defaults[1], **found}.items() if name != "id"}
        edges.setdefault((numbers[a], numbers[b]), []).append(mine)
    data = _data(len(graph), list(edges), directed=graph.is_directed())
    if any(nodes):
        data.node_attributes = nodes
    if any(any(found) for found in edges.values()):
        data.edge_attributes = [
            edges.get((a, b)) or edges.get((b, a), []) for a, b in data.edge_index.t().tolist()
        ]  # of all edges between these two nodes
    return data


def _data(num_nodes: int, edges: list[Ends], *, directed: bool = False) -> Data:
    """A simple graph: an edge that is named twice, or in both directions of an undirected graph, is one."""
    import torch
    from torch_geometric.data import Data

    named = dict.fromkeys(ends if directed else (min(ends), max(ends)) for ends in edges)
    one_way = torch.tensor(list(named), dtype=torch.long).reshape(-1, 2).t()
    back = one_way.flip(0)[:, one_way[0] != one_way[1]]
    edge_index = one_way if directed else torch.cat([one_way, back], dim=1)
    return Data(edge_index=edge_index.contiguous(), num_nodes=num_nodes)
