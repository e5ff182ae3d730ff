"""Files that are there as a whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from dropgnn.files import written_whole


def test_a_file_takes_its_place_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "one.json"
    with written_whole(path) as beside:
        beside.write_text("half")
        assert not path.exists()
        beside.write_text("whole")
    assert path.read_text() == "whole"
    assert [found.name for found in path.parent.iterdir()] == ["one.json"]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_text("old")

    def fail() -> None:
        with written_whole(path) as beside:
            beside.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_text() == "old"
    assert [found.name for found in tmp_path.iterdir()] == ["one.json"]
