"""Files a user has: read, or refused with file and line."""

from __future__ import annotations

import os
from pathlib import Path

import networkx as nx
import pytest

from dropgnn.data.files import LONGEST_CODE, read_graphs
from dropgnn.data.locate import data_folders, find_dataset
from dropgnn.errors import DataProblem, InvalidArgument
from dropgnn.molecules.table import read_table
from tests.data.test_datasets import write_tu


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_edge_lists(tmp_path: Path) -> None:
    (data,) = read_graphs(write(tmp_path, "a.edges", "% comment\na b\nb,c  # comment\n\nlonely\nc;c {}\n"))
    assert data.num_nodes == 4
    assert data.edge_index.t().tolist() == [[0, 1], [1, 2], [2, 2], [1, 0], [2, 1]]


def test_an_edge_may_be_named_in_both_directions(tmp_path: Path) -> None:
    once, both = (
        read_graphs(write(tmp_path, name, text))[0]
        for name, text in (("once.edges", "0 1\n1 2\n2 0\n"), ("both.edges", "0 1\n1 0\n1 2\n2 1\n2 0\n0 2\n1 2\n"))
    )
    assert sorted(once.edge_index.t().tolist()) == sorted(both.edge_index.t().tolist())


def test_a_heading_is_not_an_edge(tmp_path: Path) -> None:
    for text in ("source,target\n0,1\n1,2\n", "0 1\n1 2\n", '\ufeff"Node_1";"Node_2"\n0;1\n1;2\n'):
        (data,) = read_graphs(write(tmp_path, "a.csv", text))
        assert (data.num_nodes, data.edge_index.size(1)) == (3, 4)


def test_graph6_and_graphml_agree(tmp_path: Path) -> None:
    petersen = nx.petersen_graph()
    nx.write_graph6(petersen, tmp_path / "p.g6")
    nx.write_graphml(petersen, tmp_path / "p.graphml")
    for name in ("p.g6", "p.graphml"):
        (data,) = read_graphs(tmp_path / name)
        edges = {(a, b) for a, b in data.edge_index.t().tolist() if a < b}
        assert (data.num_nodes, len(edges)) == (10, 15)


def test_directed_graphml_stays_directed(tmp_path: Path) -> None:
    nx.write_graphml(nx.DiGraph([(0, 1)]), tmp_path / "d.graphml")
    assert read_graphs(tmp_path / "d.graphml")[0].edge_index.tolist() == [[0], [1]]


def test_attributes_of_graphml(tmp_path: Path) -> None:
    graph = nx.Graph()
    graph.add_node("a", element="C")
    graph.add_node("b")
    graph.add_edge("a", "b", order=2)
    nx.write_graphml(graph, tmp_path / "m.graphml")
    (data,) = read_graphs(tmp_path / "m.graphml")
    assert (data.node_attributes, data.edge_attributes) == ([{"element": "C"}, {}], [[{"order": 2}], [{"order": 2}]])
    plain = nx.path_graph(2)
    nx.write_graphml(plain, tmp_path / "p.graphml")
    assert "node_attributes" not in read_graphs(tmp_path / "p.graphml")[0]


def test_gin_text(tmp_path: Path) -> None:
    first, second = read_graphs(write(tmp_path, "g.txt", "2\n3 1\n0 1 1\n5 2 0 2\n0 1 1\n1 0\n7 0\n"))
    assert first.tag.tolist() == [0, 5, 0]
    assert sorted(map(tuple, first.edge_index.t().tolist())) == [(0, 1), (1, 0), (1, 2), (2, 1)]
    assert (second.num_nodes, second.edge_index.size(1), int(first.y), int(second.y)) == (1, 0, 1, 0)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.edges", "a b\na b c\n", r"a.edges, line 2: an edge has two ends, found 3 columns; keep the first two"),
        ("a.edges", "", r"a.edges holds no graph"),
        ("a.g6", "I?h]@eOWG\n!!\n", r"a.g6, line 2: not a graph6 code"),
        ("a.graphml", "<nonsense", r"a.graphml is not GraphML"),
        ("a.txt", "1\n2 0\n0 1 1\n", r"a.txt ends early: line 4 is missing"),
        ("a.txt", "1\n2 0\n0 1 5\n0 0\n", r"a.txt, line 3: a neighbour is not one of the graph's nodes, 0 to 1"),
        ("a.txt", "1\n2 0\n0 2 1\n", r"a.txt, line 3: a node of degree 2 lists 1 neighbours"),
        ("a.txt", "1\n2 zero\n", r"a.txt, line 2: must be whole numbers, found '2 zero'"),
        ("a.csv", "graph,label\n0,1\n1,0\n", r"a.csv, line 1: 'graph, label' is not the heading of a list of edges"),
        (
            "a.edges",
            "graph label\n0 1\n1 0\n",
            r"a.edges, line 1: 'graph, label' is not the heading of a list of edges",
        ),
        (
            "a.csv",
            "g0.graphml,1\ng1.graphml,0\n",
            r"a.csv, line 1: .* two whole numbers, found 'g0.graphml, 1'.*\.edges",
        ),
        ("a.csv", "source,target\n0,0.5\n", r"a.csv, line 2: a .csv file must list edges as two whole numbers"),
        ("a.csv", "0,1,2\n", r"a.csv, line 1: an edge has two ends, found 3 columns"),
        ("a.csv", "label\n1\n0\n", r"a.csv, line 1: 'label' is not the heading"),
        ("a.csv", "1\n0\n", r"a.csv, line 1: a .csv file must list edges as two whole numbers, found '1'"),
        (
            "a.txt",
            "0 1\n1 2\n",
            r"a.txt, line 1: the number of graphs stands alone .*an edge list ends in .edges or .csv",
        ),
        ("a.xyz", "", r"has the ending '.xyz'; known are .g6, .graphml"),
    ],
)
def test_malformed_files_are_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(DataProblem, match=message):
        read_graphs(write(tmp_path, name, text))


def test_binary_and_missing_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "b.edges").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataProblem, match=r"b.edges is not a text file"):
        read_graphs(tmp_path / "b.edges")
    with pytest.raises(DataProblem, match=r"there is no file"):
        read_graphs(tmp_path / "none.g6")


@pytest.mark.parametrize("ending", [".edges", ".csv", ".g6", ".txt"])
def test_files_of_gigabytes_are_refused_before_they_are_read(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"large{ending}"
    path.touch()
    os.truncate(path, 3 << 30)
    with pytest.raises(DataProblem, match=rf"large{ending} has 3,072 MB; texts of at most 512 MB are read"):
        read_graphs(path)
    with pytest.raises(DataProblem, match=rf"large{ending} has 3,072 MB"):
        read_table(path, "smiles")


def test_a_name_is_no_null_character(tmp_path: Path) -> None:
    (tmp_path / "graph.edges").write_bytes(b"a b\n\0\n")
    with pytest.raises(DataProblem, match=r"graph.edges is not a text file: it has null characters"):
        read_graphs(tmp_path / "graph.edges")


def test_a_code_of_a_huge_graph(tmp_path: Path) -> None:
    (tmp_path / "graph.g6").write_text("A_\n" + "~" * (LONGEST_CODE + 1))
    with pytest.raises(
        DataProblem, match=r"graph.g6, line 2: a graph6 code of 16,777,217 characters; .* ends in .edges"
    ):
        read_graphs(tmp_path / "graph.g6")


def test_datasets_are_looked_for_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DROPGNN_DATA", str(tmp_path / "named"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert data_folders(tmp_path) == [tmp_path, tmp_path / "named", tmp_path / "cache" / "dropgnn"]
    with pytest.raises(DataProblem, match=r"no dataset 'MUTAG' in .*; pass --data DIR or set DROPGNN_DATA"):
        find_dataset("MUTAG", tmp_path, download=False)
    with pytest.raises(InvalidArgument, match=r"'data' must be a folder that is there \(got .*nowhere\)"):
        find_dataset("MUTAG", tmp_path / "nowhere")
    target = tmp_path / "named" / "IMDBBINARY" / "IMDBBINARY.txt"
    target.parent.mkdir(parents=True)
    target.write_text("0\n")
    assert find_dataset("imdb-b", tmp_path) == (target, "IMDBBINARY", True)
    first = write_tu(tmp_path / "given" / "IMDB-BINARY")
    assert find_dataset("IMDB-B", tmp_path / "given") == (first, "IMDB-BINARY", False)  # raw files, but asked for first


@pytest.mark.parametrize("name", ["small", "My-Data", "UPPER", "any.txt"])
def test_datasets_are_found_by_any_name(name: str, tmp_path: Path) -> None:
    write_tu(tmp_path / "raw" / "tu" / name)
    (tmp_path / "text" / "tu" / name).mkdir(parents=True)
    write(tmp_path / "text" / "tu" / name, f"{name}.txt", "1\n1 0\n0 0\n")
    for kind in ("raw", "text"):
        found = find_dataset(name, tmp_path / kind, download=False)
        assert (found.name, found.is_text) == (name, kind == "text")


def test_one_folder_one_dataset(tmp_path: Path) -> None:
    write_tu(tmp_path / "ONE")
    write_tu(tmp_path / "TWO")
    (tmp_path / "ONE" / "ANOTHER_A.txt").touch()
    assert find_dataset(str(tmp_path / "ONE")).name == "ONE"
    moved = (tmp_path / "TWO").rename(tmp_path / "BOTH")
    assert find_dataset(str(moved)).name == "TWO"
    (moved / "ANOTHER_A.txt").touch()
    with pytest.raises(DataProblem, match=r"holds several datasets \(ANOTHER, TWO\); give each a folder of its own"):
        find_dataset(str(moved))


def test_mutag(data_root: Path) -> None:
    graphs = read_graphs(find_dataset("MUTAG", data_root).path)
    sizes = [data.num_nodes for data in graphs]
    assert (len(graphs), min(sizes), max(sizes), round(sum(sizes) / len(sizes))) == (188, 10, 28, 18)
