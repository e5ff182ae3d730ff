"""Trained briefly, DropGIN solves Limits 1; plain GIN cannot, however long it trains."""

from __future__ import annotations

import pytest
import torch

from dropgnn import GIN, DropGNN, Exhaustive, InvalidArgument
from dropgnn.data.synthetic import task
from dropgnn.experiments.beyond_wl import BOTH, METHODS, Trial, build, run
from dropgnn.nn import LayerReadout
from dropgnn.training.loop import fit, inputs
from dropgnn.training.presets import PRESETS
from dropgnn.training.seeds import seeded_weights, stream


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("method", ["dropout", BOTH])
def test_dropouts_solve_limits_1_and_so_they_do_with_ports(method: str, seed: int) -> None:
    result = run(Trial("limits1", method, seed, epochs=200, preset="published", schedule="cosine"))
    assert (result["train"], result["test"]) == (1.0, 1.0)


def twins_apart(method: str, seed: int = 0) -> float:
    """How far nodes of one colour, which 1-WL takes for each other, are apart in the predictions of a trained model."""
    limits = task("limits1", seed)
    batch = limits.batch()
    batch.x = batch.x.double()
    batch.edge_attr = batch.edge_attr.double() if method == "ports" else None
    model = build(Trial("limits1", method, seed, epochs=30), limits).double()
    fit(model, batch, epochs=30, generator=stream(seed, "training"), schedule="cosine")
    model.eval()
    with torch.no_grad():
        prediction = model(*inputs(batch), generator=stream(seed, "testing"))
    alike = [prediction[(batch.x == colour).all(dim=1)] for colour in batch.x.unique(dim=0)]
    assert [len(same) for same in alike] == [4] * 4
    return max(float((same - same[0]).abs().max()) for same in alike)


def test_plain_gin_and_ports_cannot_tell_the_graphs_apart() -> None:
    """However long they train: of four nodes alike two are in either graph, so half of the nodes are right. With dropouts (the
    control) they are not alike. With each of the seeds 0 to 19: 0 apart without dropouts, at least 0.49 with them."""
    assert max(map(twins_apart, ("gin", "ports"))) < 1e-9
    assert twins_apart("dropout") > 0.05


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["limits2", "four_cycles"])
def test_every_method_trains_and_repeats_to_the_bit(name: str, method: str) -> None:
    state = torch.random.get_rng_state()
    losses: list[list[float]] = [[], []]
    for log in losses:
        run(Trial(name, method, seed=1, epochs=3), lambda epoch, loss, log=log: log.append(loss))  # type: ignore[misc]
    assert losses[0] == losses[1]
    assert torch.equal(torch.random.get_rng_state(), state)


def test_exhaustive_runs_are_planned_once_and_train_the_same() -> None:
    batch = task("lcc", 0).batch()
    batch.edge_attr = None
    losses: dict[str, list[float]] = {"auto": [], "batched": []}
    for engine, log in losses.items():
        with seeded_weights(0):
            gin = GIN(1, 8, 2)
            model = DropGNN(gin, Exhaustive(0.1, k=1), head=LayerReadout(gin.channels, 3), engine=engine).double()
        batch.x = batch.x.double()
        fit(model, batch, epochs=5, generator=stream(0, "x"), on_epoch=lambda epoch, loss, log=log: log.append(loss))  # type: ignore[misc]
    assert losses["auto"] == pytest.approx(losses["batched"], rel=1e-6)


def test_presets_differ_as_the_paper_and_its_code_do() -> None:
    paper, published = PRESETS["paper"], PRESETS["published"]
    assert (paper.p(16), published.p(16)) == (1 / 16, 2 / 17)
    assert (paper.auxiliary_share, published.auxiliary_share) == (1 / 3, 1 / 4)


def test_without_auxiliary_loss_there_is_no_auxiliary_head_and_the_same_weights_otherwise() -> None:
    limits = task("limits1", 0)
    paper, without = (
        build(Trial("limits1", "dropout", seed=0, epochs=1, preset=preset), limits)
        for preset in ("paper", "no-auxiliary")
    )
    assert paper.auxiliary is not None
    assert without.auxiliary is None
    weights = paper.state_dict()
    assert all(torch.equal(value, weights[name]) for name, value in without.state_dict().items())


def test_streams_are_independent_and_weights_leave_the_global_state_alone() -> None:
    state = torch.random.get_rng_state()
    with seeded_weights(0):
        first = torch.nn.Linear(3, 3)
    with seeded_weights(0):
        again = torch.nn.Linear(3, 3)
    assert torch.equal(first.weight, again.weight)
    assert torch.equal(torch.random.get_rng_state(), state)
    draws = [torch.rand(4, generator=stream(seed, purpose)) for seed in (0, 1) for purpose in ("a", "b")]
    assert len({tuple(draw.tolist()) for draw in draws}) == 4


def test_unknown_methods_list_the_known_ones() -> None:
    with pytest.raises(
        InvalidArgument,
        match=r"'method' must be one of gin, ports, ids, random, dropout, ports\+dropout \(got 'magic'\)",
    ):
        run(Trial("limits1", "magic", 0, epochs=1))
    with pytest.raises(InvalidArgument, match=r"'schedule' must be one of constant, cosine \(got 'step'\)"):
        run(Trial("limits1", "gin", 0, epochs=1, schedule="step"))


@pytest.mark.parametrize("setting", [{"p": 0.1}, {"runs": 3}, {"mode": "remove"}, {"regularise": True}])
def test_settings_without_effect_are_refused(setting: dict) -> None:
    with pytest.raises(InvalidArgument, match=r"has no effect with method 'gin', which drops nothing"):
        Trial("limits1", "gin", 0, 1, **setting)
    Trial("limits1", "dropout", 0, 1, **setting)
