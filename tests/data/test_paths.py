"""Readers take paths and texts, and refuse anything else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dropgnn.data.brec import load_brec
from dropgnn.data.datasets import load_dataset
from dropgnn.data.files import read_graphs
from dropgnn.data.pairs import named_pair
from dropgnn.data.qm9.dataset import QM9
from dropgnn.errors import DataMissing, DataProblem, InvalidArgument
from dropgnn.molecules.table import read_table
from dropgnn.molecules.trained import TrainedModel
from tests.data.test_datasets import write_tu

READERS: dict[str, Callable[..., object]] = {
    "read_graphs": read_graphs,
    "load_dataset": load_dataset,
    "load_dataset of data": lambda data: load_dataset("MUTAG", data=data),
    "load_brec": load_brec,
    "QM9.load": QM9.load,
    "QM9.load of PyG": lambda folder: QM9.load(pyg_folder=folder),
    "read_table": lambda path: read_table(path, "smiles"),
    "TrainedModel.load": TrainedModel.load,
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("wrong", [3, 0.5, b"x", [], object()])
def test_what_is_no_path(reader: str, wrong: object) -> None:
    with pytest.raises(InvalidArgument, match=r"'(path|name|data|folder|pyg_folder)' must be a path \(got"):
        READERS[reader](wrong)
    with pytest.raises(InvalidArgument, match="must be a path, without a null character"):
        READERS[reader]("a\0b")


def test_texts_are_paths(tmp_path: Path) -> None:
    (tmp_path / "graph.edges").write_text("a b\n")
    (tmp_path / "table.csv").write_text("smiles\nO\n")
    write_tu(tmp_path / "OWN")
    assert read_graphs(str(tmp_path / "graph.edges"))[0].num_nodes == 2
    assert len(read_table(str(tmp_path / "table.csv"), "smiles").rows) == 1
    found = [
        load_dataset("OWN", data=str(tmp_path), features="degree"),
        load_dataset(tmp_path / "OWN", features="degree"),
    ]
    assert [len(one.graphs) for one in found] == [2, 2]
    with pytest.raises(DataMissing, match="BREC was not found"):
        load_brec(str(tmp_path), download=False)
    with pytest.raises(DataProblem, match=r"table\.csv"):
        TrainedModel.load(str(tmp_path / "table.csv"))


def test_arguments_of_datasets_and_pairs(tmp_path: Path) -> None:
    write_tu(tmp_path / "OWN")
    for wrong, message in (
        ({"seed": -1}, "'seed' must be a whole number of at least 0"),
        ({"edge_features": 2}, "'edge_features' must be True or False"),
    ):
        with pytest.raises(InvalidArgument, match=message):
            load_dataset("OWN", data=tmp_path, **wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="'name' must be a str"):
        named_pair(3)  # type: ignore[arg-type]
