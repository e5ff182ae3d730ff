"""Files of graphs that are wrong: what, and in which line."""

from __future__ import annotations

from pathlib import Path

import pytest

from dropgnn.data.datasets import load_dataset
from dropgnn.errors import DataProblem
from tests.data.test_datasets import write_tu

pytestmark = pytest.mark.usefixtures("own_cache")

WRONG_TU = {
    "neighbour out of range": ({"A": "1, 2\n2, 9\n"}, r"_A.txt line 2: nodes are numbered 1 to 5, found 2, 9"),
    "one direction": ({"A": "1, 2\n2, 1\n2, 3\n"}, r"_A.txt line 3: the edge 2, 3 is not there in the other direction"),
    "between graphs": ({"A": "3, 4\n4, 3\n"}, r"_A.txt line 1: the edge 3, 4 joins two graphs"),
    "a word": ({"A": "1, 2\n2, one\n"}, r"_A.txt line 2: must be as many whole numbers as in the first line.*'2, one'"),
    "ragged": ({"A": "1, 2\n2, 1, 1\n"}, r"_A.txt line 2: must be as many whole numbers"),
    "a blank line": ({"graph_labels": "1\n\n1\n"}, r"_graph_labels.txt line 2: is blank"),
    "blank lines at the end": ({"A": "1, 2\n2, 9\n\n\n"}, r"_A.txt line 2: nodes are numbered"),
    "not text": ({"A": "1, 2\n\x00\n"}, r"_A.txt line 2: must be as many whole numbers"),
    "too large": ({"A": f"1, 2\n2, 1\n2, {10**30}\n3, 2\n"}, r"_A.txt line 3: must be as many whole numbers"),
    "not whole": ({"graph_labels": "1\n0.5\n"}, r"_graph_labels.txt line 2: must be as many whole numbers"),
    "nothing at all": ({"A": "", "graph_indicator": "", "graph_labels": ""}, r"_graph_labels.txt has no graph"),
    "too large for a float": (
        {"node_attributes": "1\n1\n1\n1e39\n1\n"},
        r"_node_attributes.txt line 4: must be finite",
    ),
    "truncated": (
        {"node_labels": "1\n1\n"},
        r"_node_labels.txt line 3: is missing; there must be a line for each of the 5",
    ),
    "missing label": ({"graph_labels": "1\n"}, r"_graph_indicator.txt line 4: graph 2 has no label, there are 1"),
    "empty graph": ({"graph_labels": "1\n1\n1\n"}, r"_graph_indicator.txt line 6: graph 3 has no node"),
    "empty graph in front": (
        {"graph_indicator": "2\n2\n2\n3\n3\n", "graph_labels": "1\n1\n1\n"},
        r"_graph_indicator.txt line 1: graph 1 has no node",
    ),
    "mixed up": ({"graph_indicator": "1\n2\n1\n2\n2\n"}, r"_graph_indicator.txt line 3: graphs must come one after"),
    "not finite": ({"node_attributes": "1\n1\nnan\n1\n1\n"}, r"_node_attributes.txt line 3: must be finite"),
    "edge labels": ({"edge_labels": "1\n" * 7}, r"_edge_labels.txt line 7: is one too many; .* 6 edges"),
}


@pytest.mark.parametrize(("files", "message"), WRONG_TU.values(), ids=WRONG_TU)
def test_wrong_raw_files_name_file_and_line(files: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(DataProblem, match=message):
        load_dataset(str(write_tu(tmp_path / "WRONG", **files)), features="constant")


WRONG_TEXT = {
    "truncated": ("2\n1 0\n0 0\n1 1\n", r"WRONG.txt ends early: line 5 is missing"),
    "neighbour out of range": (
        "1\n2 0\n0 1 1\n0 1 2\n",
        r"line 4: a neighbour is not one of the graph's nodes, 0 to 1",
    ),
    "one direction": ("1\n3 0\n0 1 1\n0 0\n0 0\n", r"line 3: node 0 lists 1 as a neighbour, but 1 does not list 0"),
    "missing label": (
        "1\n2\n0 1 1\n0 1 0\n",
        r"line 2: a graph begins with its number of nodes and its label, found 1",
    ),
    "twice": ("1\n2 0\n0 2 1 1\n0 2 0 0\n", r"line 3: a neighbour is listed twice"),
    "loop": ("1\n2 0\n0 2 0 1\n0 1 0\n", r"line 3: node 0 lists itself"),
    "too large": (f"1\n1 {10**30}\n0 0\n", r"line 2: a number is too large"),
    "empty graph": ("2\n1 0\n0 0\n0 1\n", r"line 4: a graph has at least one node, found 0"),
    "no graphs": ("0\n", r"line 1: there is at least one graph, found 0"),
    "fewer than none": ("-3\n", r"line 1: there is at least one graph, found -3"),
    "no degree": ("1\n1 0\n0\n", r"line 3: a node has a tag and a degree"),
    "garbage behind": ("1\n1 0\n0 0\ngarbage\n", r"line 4: must be whole numbers, found 'garbage'"),
    "zeros behind": ("1\n1 0\n0 0\n\x00\x00\n", r"line 4: must be whole numbers, found"),
}


@pytest.mark.parametrize(("text", "message"), WRONG_TEXT.values(), ids=WRONG_TEXT)
def test_wrong_text_files_name_file_and_line(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "WRONG").mkdir()
    (tmp_path / "WRONG" / "WRONG.txt").write_text(text)
    with pytest.raises(DataProblem, match=message):
        load_dataset(str(tmp_path / "WRONG"), features="constant")


WRONG_FOLDS: dict[str, tuple[dict[str, str | None], str]] = {
    "missing": ({"test_idx-4": None}, "test_idx-4.txt is missing"),
    "out of range": ({"test_idx-2": "0\n10\n"}, "test_idx-2.txt, line 2: must be the number"),
    "very long": ({"test_idx-2": "1" * 5000}, "test_idx-2.txt, line 1: must be the number of a graph, 0 to 9"),
    "leaking": ({"train_idx-3": "0\n2\n"}, "fold 3 .* tests on graphs that it trains on"),
    "nothing to test on": ({"test_idx-5": ""}, "fold 5 .* has nothing to train on, or nothing to test on"),
    "twice": ({"test_idx-6": "5\n5\n"}, "fold 6 .* names a graph twice"),
    "not all": ({"train_idx-7": "0\n1\n"}, "fold 7 .* has 3 of the 10 graphs"),
    "always the same": (
        {"test_idx-2": "0\n", "train_idx-2": "".join(f"{one}\n" for one in range(1, 10))},
        "some graph is tested on in two folds",
    ),
}


@pytest.mark.parametrize(("files", "message"), WRONG_FOLDS.values(), ids=WRONG_FOLDS)
def test_wrong_folds_are_noticed(files: dict[str, str | None], message: str, tmp_path: Path) -> None:
    folds = tmp_path / "TEN" / "10fold_idx"
    folds.mkdir(parents=True)
    (tmp_path / "TEN" / "TEN.txt").write_text("10\n" + "1 0\n0 0\n" * 10)
    for number in range(1, 11):
        (folds / f"test_idx-{number}.txt").write_text(f"{number - 1}\n")
        (folds / f"train_idx-{number}.txt").write_text("".join(f"{one}\n" for one in range(10) if one != number - 1))
    assert load_dataset(str(tmp_path / "TEN"), features="constant").folds[3].test.tolist() == [3]
    for name, text in files.items():
        path = folds / f"{name}.txt"
        path.unlink() if text is None else path.write_text(text)
    with pytest.raises(DataProblem, match=message):
        load_dataset(str(tmp_path / "TEN"), features="constant")
