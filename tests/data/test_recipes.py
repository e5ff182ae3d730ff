"""What is made of files: molecules with their hydrogens, and without."""

from __future__ import annotations

from pathlib import Path

import pytest

from dropgnn.data.datasets import FROM_TU, load_dataset
from dropgnn.errors import DataMissing, InvalidArgument
from tests.data.test_datasets import write_tu

pytestmark = pytest.mark.usefixtures("own_cache")


HYDROGENS = "2\n4 0\n5 3 1 2 3\n19 1 0\n19 1 0\n6 1 0\n3 1\n5 1 1\n6 2 0 2\n19 1 1\n"
"""A carbon with two hydrogens and an oxygen, and a path with one hydrogen at its end."""


def test_molecules_without_their_hydrogens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PTC_MR is made of the GIN paper's PTC, unless it is there itself; whatever else label 19 may be is left alone."""
    monkeypatch.setenv("DROPGNN_DATA", str(tmp_path))
    (tmp_path / "PTC").mkdir()
    (tmp_path / "PTC" / "PTC.txt").write_text(HYDROGENS)
    assert load_dataset("PTC", download=False).graphs.nodes.tolist() == [4, 3]
    made = load_dataset("PTC_MR", download=False)
    assert (made.name, made.graphs.nodes.tolist(), made.graphs.x.size(1)) == ("PTC_MR", [2, 2], 2)
    assert made.graphs.edge_index.tolist() == [[1, 0, 1, 0], [0, 1, 0, 1]]
    assert "nodes: 3 of 7 left out" in made.notes
    write_tu(tmp_path / "PTC_MR", node_labels="1\n2\n1\n1\n1\n")
    there = load_dataset("PTC_MR", download=False)
    assert (there.graphs.nodes.tolist(), FROM_TU in there.notes) == ([3, 2], True)
    with pytest.raises(InvalidArgument, match="'filter' has no effect on these graphs"):
        load_dataset("PTC_MR", filter="without-hydrogens", download=False)


def test_what_is_no_hydrogen_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DROPGNN_DATA", str(tmp_path))
    for name, text in (
        ("PTC", HYDROGENS.replace("6 2 0 2", "19 2 0 2")),
        ("OTHER", HYDROGENS.replace("6 2 0 2", "19 2 0 2")),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.txt").write_text(text)
    with pytest.raises(
        InvalidArgument, match=r"label 19 is hydrogen, with one bond \(got a node of that label with 2\)"
    ):
        load_dataset("OTHER", filter="without-hydrogens", download=False)
    with pytest.raises(DataMissing, match=r"PTC_MR cannot be made of .*PTC.txt"):
        load_dataset("PTC_MR", download=False)
