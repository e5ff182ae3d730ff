"""BREC: the raw files, the published file, and what is said about others."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Batch

from dropgnn import GIN, DropGNN, Exhaustive
from dropgnn.cli.brec import certificate
from dropgnn.data.brec import FILES, RELABELLED, BrecPair, kind_of, load_brec
from dropgnn.data.pairs import named_pair, structure_of
from dropgnn.errors import DataProblem, TrialsFailed, Unsupported
from dropgnn.experiments import brec_certificate, brec_trained
from dropgnn.experiments.brec_gap import dropped_by, reason
from dropgnn.experiments.brec_trained import hotelling, threshold
from dropgnn.theory.distinguish import distinguish
from dropgnn.training.loop import inputs
from tests.fuzz.mutations import npy_header
from tests.small_data import BREC


@pytest.fixture
def brec(small_folder: Path) -> Path:
    """A few of its pairs, under their numbers."""
    return small_folder


@pytest.fixture
def whole_brec(data_root: Path) -> Path:
    if not (data_root / "brec").is_dir():
        pytest.skip("BREC is not among the data")
    return data_root


def test_the_pairs(whole_brec: Path) -> None:
    pairs = load_brec(whole_brec)
    assert Counter(pair.kind for pair in pairs) == FILES
    assert all(len(pair.a) == len(pair.b) and pair.a.size() == pair.b.size() for pair in pairs)
    assert (len(pairs[345].a), len(pairs[356].a)) == (198, 156)
    assert max(len(pair.a) for pair in pairs) == 198


def assert_dropouts_separate(pairs: list[BrecPair], fewest: dict[int, int]) -> None:
    for number, k in fewest.items():
        verdict = distinguish(structure_of(pairs[number].a), structure_of(pairs[number].b), max_k=2, telling=False)
        assert (verdict.k, verdict.proved) == (k, True)


def test_1_wl_separates_none_and_small_dropouts_do(brec: Path) -> None:
    assert_dropouts_separate(load_brec(brec), {0: 1, 60: 1, 110: 2, 160: 1})
    assert brec_certificate.run(brec_certificate.Certificate(0, 2), data=brec)["k"] == 1


def test_small_dropouts_separate_large_pairs(whole_brec: Path) -> None:
    assert_dropouts_separate(load_brec(whole_brec), {262: 2, 300: 1, 360: 2, 380: 2})


def test_few_pairs_are_those_of_the_whole(brec: Path, whole_brec: Path) -> None:
    few, whole = load_brec(brec), load_brec(whole_brec)
    for number in BREC:
        assert [nx.to_graph6_bytes(graph) for graph in (few[number].a, few[number].b)] == [
            nx.to_graph6_bytes(graph) for graph in (whole[number].a, whole[number].b)
        ]


def test_the_last_two_fall_at_four(whole_brec: Path) -> None:
    """Only pair 356: 24 million dropped sets of four nodes, of 338 and some thousand kinds."""
    pytest.importorskip("pynauty", reason="needs the extra 'orbits'")
    verdict = distinguish(*named_pair("brec:356", whole_brec), max_k=4, symmetric=True, telling=False)
    assert (verdict.k, verdict.proved, verdict.subsets) == (4, True, 24_371_582)


def test_the_published_file(brec: Path, tmp_path: Path) -> None:
    """Blocks of 64, the two graphs of a pair in turns, nodes in another order each time; more may follow."""
    codes = []
    for pair in load_brec(brec):
        both = [nx.to_graph6_bytes(graph, header=False).strip() for graph in (pair.a, pair.b)]
        codes += both * RELABELLED
    np.save(tmp_path / "brec_v3.npy", np.array(codes + codes[:64]))
    read = load_brec(tmp_path)
    assert [nx.to_graph6_bytes(pair.b) for pair in read] == [nx.to_graph6_bytes(pair.b) for pair in load_brec(brec)]


def test_what_is_wrong_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DROPGNN_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(DataProblem, match="BREC was not found; pass --data DIR"):
        load_brec(download=False)
    path = tmp_path / "brec_v3.npy"
    np.save(path, np.array([b"A_"] * 10))
    with pytest.raises(DataProblem, match="must hold 400 blocks of 64 graphs; it holds 10 graphs"):
        load_brec(tmp_path)
    np.save(path, np.array([b"A_", None], dtype=object), allow_pickle=True)
    with pytest.raises(DataProblem, match="is not an array of strings"):
        load_brec(tmp_path)
    path.write_bytes(npy_header("<f8", (400, 10**6)) + bytes(800))
    with pytest.raises(
        DataProblem, match=r"brec_v3.npy is damaged: it has .* bytes where its header asks for 3,200,000,\d+"
    ):
        load_brec(tmp_path)
    np.save(path, np.array([1.5]))
    with pytest.raises(DataProblem, match="is not an array of strings but of numbers"):
        load_brec(tmp_path)
    np.save(path, np.array([b"\x01nonsense"] * 400 * 64))
    with pytest.raises(DataProblem, match="what is not a graph6 code"):
        load_brec(tmp_path)
    with pytest.raises(DataProblem, match="BREC has 400 pairs"):
        kind_of(400)


def test_hotelling_and_its_threshold() -> None:
    assert threshold() == pytest.approx(72.34, abs=0.005)
    noise = torch.randn(2, 32, 16, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert hotelling(noise[0], noise[1]) < threshold()
    assert hotelling(noise[0] + 3, noise[1]) > threshold()
    same = torch.ones(32, 16, dtype=torch.float64)
    assert hotelling(same, same) == 0.0
    assert hotelling(same, same + 0.01) > threshold()  # no variance at all: the ridge keeps the proof


@pytest.mark.parametrize(
    ("pair", "method", "separated"),
    [
        (0, "gin", False),
        (0, "exhaustive-1", True),
        (110, "exhaustive-1", False),
        (110, "exhaustive-2", True),
        (60, "random-50", True),
    ],
)
def test_trained(brec: Path, pair: int, method: str, separated: bool) -> None:
    """Never more than the certificate allows: strongly regular graphs need two dropped nodes."""
    found = brec_trained.run(brec_trained.Trained(pair, method, layers=6), data=brec)
    assert (found["separated"], found["reliable"]) == (separated, True)


def test_why_a_pair_is_missed(brec: Path) -> None:
    """Too few dropped nodes; a GIN that takes a node for one of its neighbours, or has too few layers; numbers too close."""
    pairs, row = load_brec(brec), {"t2": 0.5, "separated": False, "reliable": True}
    assert reason(pairs[110], row, k=1, layers=4) == "takes more than 1 dropped nodes"
    assert reason(pairs[4], row, k=1, layers=4) == "not seen by 4 layers of GIN with epsilon = 0"
    assert reason(pairs[265], row, k=1, layers=4) == "not seen by 4 layers of GIN with epsilon = 0"
    assert reason(pairs[265], row, k=1, layers=6) == "seen from layer 5 on, but the numbers are too close: T² = 5.0e-01"


def test_what_is_separated_and_should_not_be(brec: Path) -> None:
    pairs, row = load_brec(brec), {"t2": 1e3, "separated": True, "reliable": True}
    assert reason(pairs[265], row, k=1, layers=6) is None
    assert reason(pairs[110], row, k=1, layers=4) == "separated, but no GNN can: rounding"
    assert reason(pairs[4], row, k=1, layers=4) == "separated, but no GIN can: rounding"
    with pytest.raises(Unsupported, match="a matter of chance"):
        dropped_by("random-50", row)


def test_what_gin_with_epsilon_0_does_not_see(brec: Path) -> None:
    """Pair 4, with every single node dropped: a node and its neighbours add up to the same, whatever the weights."""
    pair = load_brec(brec)[4]
    rng, outputs = np.random.default_rng(0), {}
    both = Batch.from_data_list([brec_trained.relabelled(graph, rng) for graph in (pair.a, pair.b)])
    for eps in (0.0, 0.5):
        torch.manual_seed(0)
        model = DropGNN(GIN(1, 8, 4, eps=eps), Exhaustive(0.5, k=1)).double()
        outputs[eps] = model(*inputs(both)).detach().view(2, 10, -1).sum(dim=1)
    assert float((outputs[0.0][0] - outputs[0.0][1]).abs().max()) < 1e-8
    assert float((outputs[0.5][0] - outputs[0.5][1]).abs().max()) > 1e-2


def test_a_run_of_which_pairs_fail_leaves_files_alone(
    brec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was found is shown, and what is there already is not replaced by less."""

    def failing(work: object, trials: object, store: object, **named: object) -> None:
        raise TrialsFailed("1 of 400 trials failed")

    monkeypatch.setattr("dropgnn.cli.brec.run_with_bar", failing)
    (output := tmp_path / "all.json").write_text("what was there")
    with pytest.raises(TrialsFailed):
        certificate(max_k=1, data=brec, work=tmp_path / "runs", jobs=1, out=output)
    assert output.read_text() == "what was there"
    assert "Pairs separated by dropouts" in capsys.readouterr().out
