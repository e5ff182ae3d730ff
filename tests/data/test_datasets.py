"""Graph classification datasets: the published statistics, and other people's files."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Batch
from torch_geometric.io import read_tu_data

from dropgnn.data import datasets
from dropgnn.data.collection import Collection
from dropgnn.data.datasets import load_dataset
from dropgnn.data.recipes import FILTERS, PAPER, Filter
from dropgnn.data.tu_folder import read_tu_folder
from dropgnn.errors import DataProblem, InvalidArgument
from dropgnn.experiments.paper import DATASETS
from dropgnn.tensor_files import load_tensors, save_tensors
from tests.small_data import GRAPHS

pytestmark = pytest.mark.usefixtures("own_cache")

PUBLISHED = {
    "MUTAG": (188, 2, 7, (10, 28, 18), (3, 4, 3.01)),
    "PTC": (344, 2, 19, (2, 109, 26), (1, 4, 3.73)),  # the GIN paper's; not in the paper's statistics
    "PTC_MR": (344, 2, 18, (2, 64, 14), (1, 4, 3.18)),
    "PROTEINS": (1109, 2, 3, (4, 336, 38), (3, 12, 5.78)),
    "IMDB-B": (996, 2, 65, (12, 69, 19), (11, 68, 18.49)),
    "IMDB-M": (1498, 3, 59, (7, 63, 13), (6, 62, 11.91)),
}
"""Graphs, classes, features; nodes and largest degrees: least, most, mean (as printed in the paper and in that of GIN)."""


@pytest.mark.parametrize("name", PAPER)
def test_statistics_are_the_published_ones(name: str, data_root: Path) -> None:
    dataset = load_dataset(name)
    graphs, classes, features, nodes, degrees = PUBLISHED[name]
    assert (len(dataset.graphs), dataset.num_classes, dataset.graphs.x.size(1)) == (graphs, classes, features)
    for (least, most, mean), values in ((nodes, dataset.graphs.nodes), (degrees, dataset.largest_degrees)):
        assert (int(values.min()), int(values.max())) == (least, most)
        assert float(values.double().mean()) == pytest.approx(mean, abs=0.5 if isinstance(mean, int) else 0.006)
    assert int(dataset.graphs.y.max()) + 1 == classes
    assert torch.equal(dataset.graphs.x.sum(dim=1), torch.ones(dataset.graphs.x.size(0)))


def test_statistics_agree_with_the_paper(data_root: Path) -> None:
    """The numbers above are those of the file of printed values, wherever it lies beside the data."""
    printed = data_root.parent / "paper" / "paper_values.toml"
    if not printed.is_file():
        pytest.skip("the paper's printed values are not beside the data")
    table = tomllib.loads(printed.read_text())["real_statistics"]
    for name in DATASETS:
        graphs, _, _, nodes, degrees = PUBLISHED["PTC_MR" if name == "PTC" else name]
        assert table[name] == {"graphs": graphs, "nodes": list(nodes), "degree": list(degrees)}


def test_a_collection_is_a_list_of_graphs(small_data: Path) -> None:
    graphs = load_dataset("MUTAG").graphs
    assert Collection.of(list(graphs)).edge_index.equal(graphs.edge_index)
    ours, pyg = graphs.batch([3, 0, 3, GRAPHS - 1]), Batch.from_data_list([graphs[number] for number in (3, 0, 3, -1)])
    for name in ("x", "edge_index", "y", "batch"):
        assert torch.equal(getattr(ours, name), getattr(pyg, name)), name
    assert ours.num_graphs == pyg.num_graphs
    part = graphs.subset([5, 2])
    assert torch.equal(part[1].edge_index, graphs[2].edge_index)
    with pytest.raises(IndexError, match=f"graph {GRAPHS} of {GRAPHS}"):
        graphs[GRAPHS]


def test_what_is_kept_is_used_and_cannot_harm(
    small_data: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kept file stands for the content of its source; damaged, it is made again."""
    first = load_dataset("MUTAG")
    (kept,) = own_cache.iterdir()
    assert kept.suffix == ".safetensors"
    written = kept.read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(datasets, "read_gin_text", lambda path: pytest.fail("parsed again"))
        again = load_dataset("MUTAG")
    assert torch.equal(first.graphs.edge_index, again.graphs.edge_index)
    flipped = [bytearray(written) for _ in range(4)]
    for number, content in enumerate(flipped, start=1):
        content[-number * len(written) // 8] ^= 1  # labels, edges, sizes: whatever lies there
    damages = (written[:100], b"", b"\x80\x04cos\nsystem\n(S'true'\ntR.", written.replace(b'"nodes"', b'"nodez"'))
    for damaged in (*damages, *map(bytes, flipped)):
        kept.write_bytes(damaged)
        assert torch.equal(load_dataset("MUTAG").graphs.x, first.graphs.x)
        load_tensors(kept)  # as whole as it was


def test_what_is_kept_of_another_source_does_not_count(tmp_path: Path, own_cache: Path) -> None:
    one, other = write_tu(tmp_path / "ONE"), write_tu(tmp_path / "TWO", A="1, 2\n2, 1\n", graph_labels="1\n1\n")
    load_dataset(str(one), features="constant")
    (kept,) = own_cache.iterdir()
    load_dataset(str(other), features="constant")
    (swapped,) = set(own_cache.iterdir()) - {kept}
    kept.write_bytes(swapped.read_bytes())
    assert load_dataset(str(one), features="constant").graphs.edges.tolist() == [4, 2]


@pytest.mark.parametrize("forged", [torch.tensor([[3, 2]]), torch.tensor([6, -1]), torch.tensor([2.5, 2.5])])
def test_forged_sizes_are_not_believed(forged: torch.Tensor, tmp_path: Path, own_cache: Path) -> None:
    folder = write_tu(tmp_path / "FORGED")
    load_dataset(str(folder), features="constant")
    (kept,) = own_cache.iterdir()
    tensors, facts = load_tensors(kept)
    save_tensors(kept, {**tensors, "nodes": forged}, facts)
    assert load_dataset(str(folder), features="constant").graphs.nodes.tolist() == [3, 2]


def write_tu(folder: Path, **files: str) -> Path:
    """A path of three nodes and an edge, and whatever is to be said otherwise."""
    content = {
        "A": "1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n5, 4\n",
        "graph_indicator": "1\n1\n1\n2\n2\n",
        "graph_labels": "-1\n1\n",
        **files,
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in content.items():
        (folder / f"{folder.name}_{name}.txt").write_text(text)
    return folder


def test_any_other_dataset(tmp_path: Path) -> None:
    """Labels and attributes of nodes and labels of edges become features, as PyG reads them; classes count from 0."""
    folder = write_tu(
        tmp_path / "OWN",
        node_labels="3\n4\n3\n4\n4\n",
        node_attributes="0.5, 1\n0.25, 2\n0, 3\n0, 4\n0, 5\n",
        edge_labels="1\n1\n0\n0\n1\n1\n",
    )
    dataset = load_dataset(str(folder), edge_features=True)
    data, slices, _ = read_tu_data(str(folder), "OWN")
    assert dataset.name == "OWN"
    assert torch.equal(dataset.graphs[0].edge_index, data.edge_index[:, :4])
    assert torch.equal(dataset.graphs[1].edge_index, data.edge_index[:, 4:])
    assert torch.equal(dataset.graphs.y, data.y)
    assert torch.equal(dataset.graphs.x.sort(dim=1).values, data.x.sort(dim=1).values)
    assert torch.equal(dataset.graphs[0].edge_attr, data.edge_attr[: slices["edge_attr"][1]])
    assert "features: labels+attributes (4)" in dataset.notes
    assert "folds: stratified, seed 0" in dataset.notes


def test_without_features_one_has_to_choose(tmp_path: Path) -> None:
    folder = str(write_tu(tmp_path / "BARE"))
    with pytest.raises(InvalidArgument, match=r"must be chosen for .*choose 'degree' or 'constant'"):
        load_dataset(folder)
    assert load_dataset(folder, features="constant").graphs.x.tolist() == [[1.0]] * 5
    degree = load_dataset(folder, features="degree").graphs.x
    assert degree.tolist() == [[1, 0], [0, 1], [1, 0], [1, 0], [1, 0]]
    with pytest.raises(InvalidArgument, match="must not ask for attributes, which the files do not have"):
        load_dataset(folder, features="attributes")
    named = str(write_tu(tmp_path / "MUTAG", node_attributes="1\n2\n3\n4\n5\n"))  # where the paper has labels
    with pytest.raises(InvalidArgument, match="choose 'attributes', 'degree' or 'constant'"):
        load_dataset(named)


def test_loops_and_repeated_edges_are_taken_out_and_said(tmp_path: Path) -> None:
    folder = write_tu(tmp_path / "TWICE", A="1, 2\n2, 1\n1, 1\n2, 3\n3, 2\n2, 3\n4, 5\n5, 4\n")
    raw = read_tu_folder(folder, "TWICE")
    assert raw.repairs == ("took out 1 loop(s)", "took out 1 repeated edge(s)")
    assert raw.edges.tolist() == [4, 2]
    assert "took out 1 loop(s)" in load_dataset(str(folder), features="constant").notes


def test_repeated_edges_that_contradict_each_other_are_said(tmp_path: Path) -> None:
    """The first one counts."""
    folder = write_tu(tmp_path / "OTHER", A="1, 2\n2, 1\n1, 2\n4, 5\n5, 4\n4, 5\n", edge_labels="0\n0\n1\n2\n2\n2\n")
    raw = read_tu_folder(folder, "OTHER")
    assert raw.repairs == ("took out 2 repeated edge(s), 1 with another label",)
    assert raw.edge_label is not None
    assert raw.edge_label.tolist() == [0, 0, 2, 2]


def test_several_labels_are_made_one(tmp_path: Path) -> None:
    folder = write_tu(
        tmp_path / "MANY", node_labels="0, 5\n0, 6\n0, 5\n1, 5\n1, 5\n", edge_attributes="1\n" * 6,
        edge_labels="0, 1\n0, 1\n0, 2\n0, 2\n0, 1\n0, 1\n",
    )  # fmt: skip
    dataset = load_dataset(str(folder), edge_features=True)
    assert dataset.graphs.edge_attr is not None
    assert dataset.graphs.edge_attr.argmax(dim=1).tolist() == [0, 0, 1, 1, 0, 0]
    assert "made one label of the 2 of each edge" in dataset.notes
    assert dataset.graphs.x.tolist() == [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 1]]
    assert "made one label of the 2 of each node" in dataset.notes
    assert "attributes of edges: left out" in dataset.notes


@pytest.mark.parametrize("end", ["", "\n\n", "\r\n"])
def test_ends_of_lines_and_files(end: str, tmp_path: Path) -> None:
    lines = ("1, 2", "2, 1", "4, 5", "5, 4")
    dataset = load_dataset(
        str(write_tu(tmp_path / "ENDS", A=("\r\n" if "\r" in end else "\n").join(lines) + end)), features="constant"
    )
    assert dataset.graphs.edges.tolist() == [2, 2]


def test_graphs_without_edges(tmp_path: Path) -> None:
    dataset = load_dataset(str(write_tu(tmp_path / "ALONE", A="")), features="constant")
    assert (len(dataset.graphs), dataset.graphs.edge_index.shape) == (2, (2, 0))


def test_a_filter_must_leave_something(small_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = Filter(lambda raw: torch.zeros_like(raw.nodes, dtype=torch.bool))
    monkeypatch.setitem(FILTERS._members, "all", nothing)
    with pytest.raises(InvalidArgument, match=f"'filter' must leave at least one of the {GRAPHS} graphs"):
        load_dataset("MUTAG", filter="all")
    monkeypatch.setitem(FILTERS._members, "all", Filter(nodes=lambda raw: raw.degree < 0))
    with pytest.raises(
        InvalidArgument, match=rf"'filter' must leave a node of every graph \(got {GRAPHS} graphs without\)"
    ):
        load_dataset("MUTAG", filter="all")
    with pytest.raises(
        InvalidArgument, match=r"'filter' has no effect on these graphs \(got 'at-most-70-nodes'\); leave it"
    ):
        load_dataset("MUTAG", filter="at-most-70-nodes")


def test_the_data_folder_comes_before_where_we_are(
    small_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But a folder can be asked for as one, and knows the paper's choices by its name."""
    monkeypatch.chdir(tmp_path)
    write_tu(tmp_path / "MUTAG")
    assert len(load_dataset("MUTAG", data=small_data).graphs) == GRAPHS
    assert len(load_dataset("./MUTAG", features="constant").graphs) == 2
    sizes = "\n".join(["2", "71 0", *["0 0"] * 71, "3 1", *["0 0"] * 3])
    folder = tmp_path / "tu" / "IMDBBINARY"
    folder.mkdir(parents=True)
    (folder / "IMDBBINARY.txt").write_text(sizes)
    assert len(load_dataset(str(folder)).graphs) == 1
    monkeypatch.chdir(folder)
    assert load_dataset(".").name == "IMDB-B"


def test_the_collections_own_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DROPGNN_DATA", str(tmp_path))
    for name in ("IMDB-BINARY", "PTC_MR"):
        write_tu(tmp_path / name, node_labels="1\n2\n1\n1\n1\n")
    for name in ("IMDB-B", "imdb-b", "IMDB-BINARY"):
        dataset = load_dataset(name, download=False)
        assert (dataset.name, dataset.notes[0]) == ("IMDB-B", "features: degree (2)")
    dataset = load_dataset("PTC", download=False)
    assert "PTC_MR of the TU collection, not the file of the GIN paper" in dataset.notes


def test_folders_with_brackets_in_their_names_are_not_mixed_up(tmp_path: Path) -> None:
    """Nor is one that was changed taken for what it was."""
    one = load_dataset(str(write_tu(tmp_path / "a" / "S[1]")), features="constant")
    other = load_dataset(str(write_tu(tmp_path / "b" / "S[1]", A="1, 2\n2, 1\n4, 5\n5, 4\n")), features="constant")
    assert (one.graphs.edges.tolist(), other.graphs.edges.tolist()) == ([4, 2], [2, 2])
    assert one.notes[-1] != other.notes[-1]


def test_what_is_nowhere_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DROPGNN_DATA", str(tmp_path))
    with pytest.raises(DataProblem, match=r"no dataset 'NCI1' in .*; pass --data DIR"):
        load_dataset("NCI1", download=False)
    (tmp_path / "nothing").mkdir()
    with pytest.raises(DataProblem, match=r"holds neither nothing.txt nor the raw files of a TU dataset"):
        load_dataset(str(tmp_path / "nothing"))
