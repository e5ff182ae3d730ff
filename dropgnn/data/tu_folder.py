"""The raw files of a TU dataset: ``NAME_A.txt``, ``NAME_graph_indicator.txt``, ``NAME_graph_labels.txt`` and, where there are
any, ``NAME_node_labels.txt``, ``NAME_node_attributes.txt`` and ``NAME_edge_labels.txt``. Everything counts from 1."""

from __future__ import annotations

import warnings
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from dropgnn.data.gin_text import SHOWN
from dropgnn.data.raw import RawGraphs
from dropgnn.errors import DataProblem
from dropgnn.files import read_text


def read_tu_folder(folder: Path, name: str) -> RawGraphs:
    """Read and check all files. Repeated edges and loops are taken out, which ``repairs`` says."""
    files = _Files(folder, name)
    graph_of_node = files.integers("graph_indicator") - 1
    labels = files.integers("graph_labels")
    if not len(labels):
        raise files.problem("graph_labels", "has no graph")
    _check_indicator(files, graph_of_node, len(labels))
    nodes = np.bincount(graph_of_node, minlength=len(labels))
    ends = files.integers("A", columns=2) - 1
    _check_edges(files, ends, graph_of_node)
    edge_label, made = _labels(files, "edge", len(ends))
    kept, repairs = _without_repetitions(ends, graph_of_node, edge_label)
    tag, merged = _labels(files, "node", len(graph_of_node))
    left_out = ("attributes of edges: left out",) if files.has("edge_attributes") else ()
    _check_both_directions(files, ends, kept, len(graph_of_node))
    ends = ends[kept]
    first = np.cumsum(nodes) - nodes
    return RawGraphs(
        torch.from_numpy(nodes),
        torch.from_numpy(np.bincount(graph_of_node[ends[:, 0]], minlength=len(nodes))),
        torch.from_numpy(np.ascontiguousarray((ends - first[graph_of_node[ends]]).T)),
        torch.from_numpy(labels),
        tag,
        files.per("node", "attributes", len(graph_of_node), np.float64),
        None if edge_label is None else edge_label[kept],
        (*repairs, *merged, *made, *left_out),
    )


def _labels(files: _Files, of: str, number: int) -> tuple[torch.Tensor | None, tuple[str, ...]]:
    """One label for every node or edge; where lines have several, one for each combination of them, which is said."""
    table = files.per(of, "labels", number, np.int64)
    if table is None or table.size(1) == 1:
        return None if table is None else table.squeeze(1), ()
    _, label = torch.unique(table, dim=0, return_inverse=True)
    return label, (f"made one label of the {table.size(1)} of each {of}",)


class _Files:
    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name

    def path(self, what: str) -> Path:
        return self.folder / f"{self.name}_{what}.txt"

    def has(self, what: str) -> bool:
        return self.path(what).is_file()

    def problem(self, what: str, message: str, *, row: int | np.integer | None = None) -> DataProblem:
        """What is wrong with a file, or with a row of it, counted from 0."""
        line = "" if row is None else f" line {row + 1}:"
        return DataProblem(f"{self.path(what)}{line} {message}")

    def integers(self, what: str, *, columns: int = 1) -> np.ndarray:
        table = self._table(what, np.int64)
        if not len(table):
            table = table.reshape(0, columns)
        if table.shape[1] != columns:
            raise self.problem(what, f"must have {columns} number(s) a line, has {table.shape[1]}")
        return table if columns > 1 else table[:, 0]

    def per(self, of: str, values: str, number: int, dtype: type) -> torch.Tensor | None:
        """A row for every node or edge; real numbers in single precision."""
        if not self.has(what := f"{of}_{values}"):
            return None
        table = self._table(what, dtype)
        if len(table) != number:
            wrong = "is missing" if len(table) < number else "is one too many"
            message = f"{wrong}; there must be a line for each of the {number} {of}s"
            raise self.problem(what, message, row=min(len(table), number))
        with np.errstate(over="ignore"):
            table = table.astype(np.float32) if dtype is np.float64 else table
        infinite = np.flatnonzero(~np.isfinite(table).all(axis=1))
        if infinite.size:
            raise self.problem(what, "must be finite numbers", row=infinite[0])
        return torch.from_numpy(table)

    def _table(self, what: str, dtype: type) -> np.ndarray:
        """The numbers of a file, row by row."""
        if not self.has(what):
            raise self.problem(what, "is missing")
        rows = read_text(self.path(what), errors="replace").rstrip().splitlines()
        blank = next((row for row, line in enumerate(rows) if not line.strip()), None)
        if blank is not None:  # else what stands behind it would be about the node or graph before
            raise self.problem(what, "is blank", row=blank)
        try:
            return _parse(rows, dtype)
        except ValueError as problem:
            wrong = _first_wrong(rows, dtype)
            kind = "whole numbers" if dtype is np.int64 else "numbers"
            message = (
                f"must be as many {kind} as in the first line, with commas between them, found {rows[wrong][:SHOWN]!r}"
            )
            raise self.problem(what, message, row=wrong) from problem


def _parse(rows: Sequence[str], dtype: type) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of an empty file
        warnings.simplefilter(
            "error", DeprecationWarning
        )  # old versions of numpy cut numbers off, and say so like this
        try:
            return np.loadtxt(rows, dtype=dtype, delimiter=",", ndmin=2, comments=None)
        except DeprecationWarning as problem:
            raise ValueError("a number is no whole number") from problem


def _first_wrong(rows: Sequence[str], dtype: type) -> int:
    """The first row that cannot be parsed with those before it, by bisection."""

    def fails(last: int) -> bool:
        try:
            _parse(rows[: last + 1], dtype)
        except ValueError:
            return True
        return False

    return bisect_left(range(len(rows) - 1), True, key=fails)


def _check_indicator(files: _Files, graph_of_node: np.ndarray, graphs: int) -> None:
    wrong = np.flatnonzero((graph_of_node < 0) | (graph_of_node >= graphs))
    if wrong.size:
        got = graph_of_node[wrong[0]] + 1
        raise files.problem("graph_indicator", f"graph {got} has no label, there are {graphs}", row=wrong[0])
    falls = np.flatnonzero(np.diff(graph_of_node) < 0)
    if falls.size:
        raise files.problem("graph_indicator", "graphs must come one after the other", row=falls[0] + 1)
    empty = np.flatnonzero(np.bincount(graph_of_node, minlength=graphs) == 0)
    if empty.size:
        here = np.searchsorted(graph_of_node, empty[0])
        raise files.problem(
            "graph_indicator", f"graph {empty[0] + 1} has no node; its first would stand here", row=here
        )


def _check_edges(files: _Files, ends: np.ndarray, graph_of_node: np.ndarray) -> None:
    wrong = np.flatnonzero(((ends < 0) | (ends >= len(graph_of_node))).any(axis=1))
    if wrong.size:
        raise files.problem(
            "A", f"nodes are numbered 1 to {len(graph_of_node)}, found {_edge(ends, wrong)}", row=wrong[0]
        )
    between = np.flatnonzero(graph_of_node[ends[:, 0]] != graph_of_node[ends[:, 1]])
    if between.size:
        raise files.problem("A", f"the edge {_edge(ends, between)} joins two graphs", row=between[0])


def _without_repetitions(
    ends: np.ndarray, graph_of_node: np.ndarray, label: torch.Tensor | None
) -> tuple[np.ndarray, tuple[str, ...]]:
    """The lines to keep, graph by graph, and what was taken out."""
    loops = ends[:, 0] == ends[:, 1]
    _, first, same = np.unique(_keys(ends, len(graph_of_node)), return_index=True, return_inverse=True)
    relabelled = 0 if label is None else int((label != label[first[same]]).sum())
    kept = np.sort(first[~loops[first]])
    kept = kept[np.argsort(graph_of_node[ends[kept, 0]], kind="stable")]
    repeated = len(ends) - len(first)
    said = (
        (int(loops[first].sum()), "loop(s)"),
        (repeated, "repeated edge(s)" + (f", {relabelled} with another label" if relabelled else "")),
    )
    return kept, tuple(f"took out {number} {what}" for number, what in said if number)


def _check_both_directions(files: _Files, ends: np.ndarray, kept: np.ndarray, nodes: int) -> None:
    back = np.isin(_keys(ends[kept][:, ::-1], nodes), _keys(ends[kept], nodes))
    if not back.all():
        lonely = kept[~back]
        raise files.problem("A", f"the edge {_edge(ends, lonely)} is not there in the other direction", row=lonely[0])


def _keys(ends: np.ndarray, nodes: int) -> np.ndarray:
    return ends[:, 0] * max(nodes, 1) + ends[:, 1]


def _edge(ends: np.ndarray, lines: np.ndarray) -> str:
    one, other = ends[lines[0]] + 1
    return f"{one}, {other}"
