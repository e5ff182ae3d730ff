"""The raw files of a TU dataset: ``NAME_A.txt``, ``NAME_graph_indicator.txt``, ``NAME_graph_labels.txt`` and, where there are
any, ``NAME_node_labels.txt``, ``NAME_node_attributes.txt`` and ``NAME_edge_labels.txt``. Everything counts from 1."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import torch

from dropgnn.data.raw import RawGraphs
from dropgnn.errors import DataProblem


def read_tu_folder(folder: Path, name: str) -> RawGraphs:
    """Read and check all files. Repeated edges and loops are taken out, which ``repairs`` says."""
    files = _Files(folder, name)
    graph_of_node = files.integers("graph_indicator") - 1
    labels = files.integers("graph_labels")
    _check_indicator(files, graph_of_node, len(labels))
    nodes = np.bincount(graph_of_node, minlength=len(labels))
    ends = files.integers("A", columns=2) - 1
    _check_edges(files, ends, graph_of_node)
    edge_label = files.integers("edge_labels") if files.has("edge_labels") else None
    if edge_label is not None and len(edge_label) != len(ends):
        raise files.problem("edge_labels", f"must have a line for each of the {len(ends)} edges, has {len(edge_label)}")
    kept, repairs = _without_repetitions(ends, graph_of_node)
    _check_both_directions(files, ends, kept, len(graph_of_node))
    ends = ends[kept]
    first = np.cumsum(nodes) - nodes
    return RawGraphs(
        torch.from_numpy(nodes),
        torch.from_numpy(np.bincount(graph_of_node[ends[:, 0]], minlength=len(nodes))),
        torch.from_numpy(np.ascontiguousarray((ends - first[graph_of_node[ends]]).T)),
        torch.from_numpy(labels),
        files.per_node("node_labels", len(graph_of_node), whole=True),
        files.per_node("node_attributes", len(graph_of_node), whole=False),
        None if edge_label is None else torch.from_numpy(edge_label[kept]),
        repairs,
    )


class _Files:
    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name

    def path(self, what: str) -> Path:
        return self.folder / f"{self.name}_{what}.txt"

    def has(self, what: str) -> bool:
        return self.path(what).is_file()

    def problem(self, what: str, message: str) -> DataProblem:
        return DataProblem(f"{self.path(what)} {message}")

    def integers(self, what: str, *, columns: int = 1) -> np.ndarray:
        table = self._table(what, np.int64)
        if table.shape[1] != columns:
            raise self.problem(what, f"must have {columns} number(s) a line, has {table.shape[1]}")
        return table if columns > 1 else table[:, 0]

    def per_node(self, what: str, nodes: int, *, whole: bool) -> torch.Tensor | None:
        if not self.has(what):
            return None
        table = self._table(what, np.int64 if whole else np.float64)
        if len(table) != nodes:
            raise self.problem(what, f"must have a line for each of the {nodes} nodes, has {len(table)}")
        if not np.isfinite(table).all():
            line = int(np.flatnonzero(~np.isfinite(table).all(axis=1))[0]) + 1
            raise self.problem(what, f"line {line}: must be finite numbers")
        return torch.from_numpy(table[:, 0].copy() if whole else table.astype(np.float32))

    def _table(self, what: str, dtype: type) -> np.ndarray:
        if not self.has(what):
            raise self.problem(what, "is missing")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of an empty file
                return np.loadtxt(self.path(what), dtype=dtype, delimiter=",", ndmin=2, encoding="utf-8", comments=None)
        except (ValueError, UnicodeDecodeError) as problem:  # which names the line
            raise self.problem(what, f"is not a table of numbers: {problem}") from problem


def _check_indicator(files: _Files, graph_of_node: np.ndarray, graphs: int) -> None:
    wrong = np.flatnonzero((graph_of_node < 0) | (graph_of_node >= graphs))
    if wrong.size:
        line, got = wrong[0] + 1, graph_of_node[wrong[0]] + 1
        raise files.problem("graph_indicator", f"line {line}: graph {got} has no label, there are {graphs}")
    falls = np.flatnonzero(np.diff(graph_of_node) < 0)
    if falls.size:
        raise files.problem("graph_indicator", f"line {falls[0] + 2}: graphs must come one after the other")
    empty = np.flatnonzero(np.bincount(graph_of_node, minlength=graphs) == 0)
    if empty.size:
        raise files.problem("graph_indicator", f"has no node for graph {empty[0] + 1}")


def _check_edges(files: _Files, ends: np.ndarray, graph_of_node: np.ndarray) -> None:
    wrong = np.flatnonzero(((ends < 0) | (ends >= len(graph_of_node))).any(axis=1))
    if wrong.size:
        raise files.problem(
            "A", f"line {wrong[0] + 1}: nodes are numbered 1 to {len(graph_of_node)}, found {_edge(ends, wrong)}"
        )
    between = np.flatnonzero(graph_of_node[ends[:, 0]] != graph_of_node[ends[:, 1]])
    if between.size:
        raise files.problem("A", f"line {between[0] + 1}: the edge {_edge(ends, between)} joins two graphs")


def _without_repetitions(ends: np.ndarray, graph_of_node: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
    """The lines to keep, graph by graph, and what was taken out."""
    loops = ends[:, 0] == ends[:, 1]
    _, first = np.unique(_keys(ends, len(graph_of_node)), return_index=True)
    kept = np.sort(first[~loops[first]])
    kept = kept[np.argsort(graph_of_node[ends[kept, 0]], kind="stable")]
    repeated = len(ends) - len(first)
    said = ((int(loops[first].sum()), "loop(s)"), (repeated, "repeated edge(s)"))
    return kept, tuple(f"took out {number} {what}" for number, what in said if number)


def _check_both_directions(files: _Files, ends: np.ndarray, kept: np.ndarray, nodes: int) -> None:
    back = np.isin(_keys(ends[kept][:, ::-1], nodes), _keys(ends[kept], nodes))
    if not back.all():
        lonely = kept[~back]
        raise files.problem(
            "A", f"line {lonely[0] + 1}: the edge {_edge(ends, lonely)} is not there in the other direction"
        )


def _keys(ends: np.ndarray, nodes: int) -> np.ndarray:
    return ends[:, 0] * max(nodes, 1) + ends[:, 1]


def _edge(ends: np.ndarray, lines: np.ndarray) -> str:
    one, other = ends[lines[0]] + 1
    return f"{one}, {other}"
