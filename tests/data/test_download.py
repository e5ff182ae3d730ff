"""Downloads from a server of our own: what is right is kept, anything else leaves nothing behind."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import platformdirs
import pytest

from dropgnn.data import archives, download
from dropgnn.data.archives import HASHES, STATISTICS, Statistics, known_dataset
from dropgnn.data.brec import FILES, RELABELLED, load_brec
from dropgnn.data.datasets import load_dataset
from dropgnn.data.locate import IN_TU, cache_folder, find_dataset
from dropgnn.data.recipes import PAPER
from dropgnn.errors import DataMissing, DataProblem
from tests.data.test_datasets import write_tu

pytestmark = pytest.mark.usefixtures("own_cache")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *given: object) -> None:
        pass


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that takes the place of the TU collection."""
    monkeypatch.delenv("DROPGNN_DATA", raising=False)
    (folder := tmp_path / "served").mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr(archives, "TU", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setattr(archives, "HASHES", {})
    monkeypatch.setattr(archives, "STATISTICS", {"FETCHED": Statistics(2, 2.5)})
    yield folder
    server.shutdown()
    server.server_close()


def pack(served: Path, name: str) -> str:
    """An archive as the collection has it, and its SHA-256."""
    write_tu(served.parent / "pack" / name)
    shutil.make_archive(str(served / name), "zip", served.parent / "pack")
    return hashlib.sha256((served / f"{name}.zip").read_bytes()).hexdigest()


def left_in_the_cache() -> list[str]:
    return sorted(path.name for path in cache_folder().rglob("*") if path.is_file())


def test_an_archive_with_a_known_hash(served: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "HASHES", {"PTC_MR": pack(served, "PTC_MR")})
    place = find_dataset("ptc_mr")
    assert (place.path, place.name) == (cache_folder() / "tu" / "PTC_MR", "PTC_MR")
    assert left_in_the_cache() == [f"PTC_MR_{what}.txt" for what in ("A", "graph_indicator", "graph_labels")]
    (served / "PTC_MR.zip").unlink()
    assert len(load_dataset("PTC_MR", filter="none", features="constant").graphs) == 2  # from the cache


def test_an_archive_with_another_hash_is_not_kept(served: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pack(served, "MUTAG")
    monkeypatch.setattr(archives, "HASHES", {"MUTAG": "0" * 64})
    with pytest.raises(DataProblem, match=r"MUTAG.zip is not the archive that is known: its SHA-256 is not 0000"):
        load_dataset("MUTAG")
    assert left_in_the_cache() == []
    assert [path.name for path in cache_folder().iterdir()] == ["tu"]
    assert not any((cache_folder() / "tu").iterdir())


def test_without_a_known_hash_the_content_is_compared(served: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pack(served, "FETCHED")
    assert len(load_dataset("FETCHED", features="constant").graphs) == 2
    shutil.rmtree(cache_folder())
    for published in (Statistics(3, 2.5), Statistics(2, 2.52)):
        monkeypatch.setattr(archives, "STATISTICS", {"FETCHED": published})
        with pytest.raises(DataProblem, match=r"FETCHED has 2 graphs of 2.50 nodes on average, and should have"):
            load_dataset("FETCHED", features="constant")
        assert left_in_the_cache() == []


def test_what_is_unknown_is_not_asked_for(served: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pack(served, "NOPE")
    monkeypatch.setattr(download, "_fetch", lambda *given: pytest.fail("asked for"))
    with pytest.raises(DataMissing, match=r"no dataset 'NOPE' in .*not one of those that can be downloaded"):
        load_dataset("NOPE")
    with pytest.raises(DataMissing, match=r"no dataset 'FETCHED' in .*pass --data DIR"):
        load_dataset("FETCHED", download=False)


def test_what_the_server_does_not_have(served: Path) -> None:
    with pytest.raises(
        DataMissing, match=r"no dataset 'FETCHED' in .*, and downloading it failed .*cannot be downloaded"
    ):
        load_dataset("FETCHED")
    assert left_in_the_cache() == []


@pytest.mark.parametrize("damage", ["flat", "no archive", "cut"])
def test_archives_that_are_none(damage: str, served: Path) -> None:
    pack(served, "FETCHED")
    archive = served / "FETCHED.zip"
    if damage == "flat":
        shutil.make_archive(str(served / "FETCHED"), "zip", served.parent / "pack" / "FETCHED")
    else:
        archive.write_bytes(b"<html>" if damage == "no archive" else archive.read_bytes()[:200])
    message = "has no FETCHED/FETCHED_A.txt in it" if damage == "flat" else "is not the ZIP archive that it should be"
    with pytest.raises(DataProblem, match=message):
        load_dataset("FETCHED")
    assert left_in_the_cache() == []


def test_brec_is_downloaded_and_checked(served: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    np.save(tmp_path / "brec_v3.npy", np.array([b"A_"] * (2 * RELABELLED * sum(FILES.values()))))
    content = hashlib.sha256((tmp_path / "brec_v3.npy").read_bytes()).hexdigest()
    shutil.make_archive(str(served / "all"), "zip", tmp_path, "brec_v3.npy")
    archive = hashlib.sha256((served / "all.zip").read_bytes()).hexdigest()
    right = archives.Brec(f"{archives.TU}/all.zip", archive, "brec_v3.npy", content)
    for wrong in (
        right._replace(archive="0" * 64),
        right._replace(content="0" * 64),
        right._replace(member="other.npy"),
    ):
        monkeypatch.setattr(archives, "BREC", wrong)
        with pytest.raises(DataProblem, match=r"BREC was not found; pass --data DIR(.|\n)*Downloading it failed: "):
            load_brec()
        assert left_in_the_cache() == []
    monkeypatch.setattr(archives, "BREC", right)
    assert len(load_brec()) == 400
    assert left_in_the_cache() == ["brec_v3.npy"]
    shutil.rmtree(cache_folder())
    with pytest.raises(DataMissing, match="BREC was not found"):
        load_brec(download=False)


def test_hashes_are_known_for_all_datasets_of_the_paper() -> None:
    """PTC is the collection's PTC_MR."""
    assert {IN_TU.get(name, name) for name in PAPER} <= HASHES.keys()
    assert all(
        len(one) == 64 and int(one, 16) for one in (*HASHES.values(), archives.BREC.archive, archives.BREC.content)
    )
    assert not HASHES.keys() & STATISTICS.keys()
    assert len({name.lower() for name in (*HASHES, *STATISTICS)}) == len(HASHES) + len(STATISTICS)
    assert known_dataset("mutag") == "MUTAG"


def test_a_cache_of_earlier_versions_is_used_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where the system's usual place is another one than it was then."""
    usual = tmp_path / "Library" / "Caches" / "dropgnn"
    monkeypatch.setattr("dropgnn.data.locate.user_cache_path", lambda *given, **named: usual)
    earlier = tmp_path / "cache" / "dropgnn"
    assert cache_folder() == usual
    earlier.mkdir(parents=True)
    assert cache_folder() == earlier
    usual.mkdir(parents=True)
    assert cache_folder() == usual
    monkeypatch.undo()
    assert platformdirs.user_cache_path("dropgnn").name == "dropgnn"
