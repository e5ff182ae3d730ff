"""Graphs that break careless code: isolated nodes, self-loops, repeated and directed edges, batches of mixed sizes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import hypothesis
import pytest
import torch

from dropgnn import Graph, compiling
from dropgnn.data.qm9.build import build_qm9
from dropgnn.data.qm9.dataset import QM9
from dropgnn.data.qm9.source import PackFiles, installed_files
from dropgnn.experiments.graph_classification import dataset_of
from dropgnn.graph import offsets
from tests.small_data import write_few_brec, write_small_mutag

compiling.SMALL = 0
"""Graphs of tests are small; compiled loops are tried on them all the same, unless a test asks for torch's way."""

hypothesis.settings.register_profile("same examples every time", derandomize=True)
hypothesis.settings.load_profile("same examples every time")


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def awkward_batch(*, features: int = 3, edge_dim: int | None = None, seed: int = 0, alike: bool = True) -> Graph:
    """Four graphs: a triangle with a tail and an isolated last node, one node with a self-loop, a directed path with a
    repeated edge, and a node without edges. All in float64; with ``alike``, two nodes cannot be told apart."""
    edges = [(0, 1), (1, 0), (1, 2), (2, 1), (2, 0), (0, 2), (2, 3), (3, 2)]  # 4 is isolated
    edges += [(5, 5)]
    edges += [(6, 7), (7, 8), (7, 8), (8, 6)]
    edge_index = torch.tensor(edges).t()
    batch = torch.tensor([0] * 5 + [1] + [2] * 3 + [3])
    x = torch.randn(10, features, generator=generator(seed), dtype=torch.float64)
    if alike:
        x[1] = x[0]
    attr = None
    if edge_dim is not None:
        attr = torch.randn(edge_index.size(1), edge_dim, generator=generator(seed + 1), dtype=torch.float64)
    return Graph.of(x, edge_index, attr, batch, num_graphs=4)


def random_batch(seed: int, *, edge_dim: int | None = None) -> Graph:
    """Two random graphs of two to four nodes: directed and undirected edges, loops, repeated edges and isolated nodes as they
    come. Nodes and edges have one of two features each, so that many look alike."""
    chance = generator(seed)
    sizes = torch.randint(2, 5, (2,), generator=chance)
    edges = []
    for size, start in zip(sizes.tolist(), offsets(sizes).tolist(), strict=True):
        there = start + torch.randint(size, (2, size + 1), generator=chance)
        edges += [there, there[:, ::2].flip(0)]  # every other edge in both directions
    edge_index, attr = torch.cat(edges, dim=1), None
    kinds = torch.randn(2, 3 + (edge_dim or 0), generator=chance, dtype=torch.float64)
    if edge_dim is not None:
        attr = kinds[torch.randint(2, (edge_index.size(1),), generator=chance), 3:]
    x = kinds[torch.randint(2, (int(sizes.sum()),), generator=chance), :3]
    return Graph.of(x, edge_index, attr, torch.repeat_interleave(sizes), num_graphs=2)


@pytest.fixture(autouse=True)
def _same_weights_every_time() -> None:
    """Modules built in a test initialise themselves from torch's global state."""
    torch.manual_seed(0)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that want real data, so that ``-m real_data`` chooses them."""
    for item in items:
        if "data_root" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.real_data)


@pytest.fixture
def data_root() -> Path:
    """Real data, where there is some."""
    given = os.environ.get("DROPGNN_DATA")
    if given is None or not Path(given).is_dir():
        pytest.skip("no real data: set DROPGNN_DATA to a folder with tu/MUTAG/MUTAG.txt")
    return Path(given)


@pytest.fixture
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where parsed files are kept, for this test alone."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "dropgnn" / "parsed"


@pytest.fixture(scope="session")
def small_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a small dataset called MUTAG, and a few pairs of BREC."""
    root = tmp_path_factory.mktemp("data")
    return write_few_brec(write_small_mutag(root))


@pytest.fixture
def small_data(small_folder: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The same, where data is looked for: what a test loads by name is the small one, with a cache for this test alone."""
    monkeypatch.setenv("DROPGNN_DATA", str(small_folder))
    dataset_of.cache_clear()
    yield small_folder
    dataset_of.cache_clear()


FEW_MOLECULES = 120


@pytest.fixture(scope="session")
def few_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first molecules of QM9 as arrays on disk."""
    pytest.importorskip("rdkit", reason="molecules need the extra 'chem'")
    folder = tmp_path_factory.mktemp("qm9")
    with installed_files().files[0].open(encoding="utf-8") as text:
        (folder / "few.csv").write_text("".join(islice(text, FEW_MOLECULES + 1)), encoding="utf-8")
    build_qm9(PackFiles((folder / "few.csv",)), folder / "arrays", jobs=1)
    return folder / "arrays"


@pytest.fixture(scope="session")
def few(few_folder: Path) -> QM9:
    return QM9.load(few_folder)
