"""Models that learn together: from the same, but each by itself."""

from __future__ import annotations

import pytest
import torch

from dropgnn import GIN, Bernoulli, DropGNN, Exhaustive, InvalidArgument
from dropgnn.data.collection import Collection
from dropgnn.data.synthetic import task
from dropgnn.nn import LayerReadout, Pooled
from dropgnn.runs.samplers import Sampler
from dropgnn.training.together import Learner, Views, learn_epoch
from tests.conftest import generator


def learner(sampler: Sampler, *, seed: int = 0) -> Learner:
    def build() -> DropGNN:
        gin = GIN(1, 4, 2)
        return DropGNN(gin, sampler, head=Pooled(LayerReadout(gin.channels, 2, dropout=0.5)))

    return Learner(build, seed, "weights")


def four_cycles() -> Collection:
    graphs = list(task("four_cycles", 0).graphs)[:6]
    for graph in graphs:
        graph.edge_attr = None
    return Collection.of(graphs)


@pytest.mark.parametrize("sampler", [Exhaustive(0.1, k=1), Bernoulli(0.1, r=3)], ids=repr)
def test_a_view_is_of_the_part_and_the_sampler_asked_for(sampler: Sampler) -> None:
    views = Views(learner(sampler).model, four_cycles())
    for size in (3, 5):  # tensors of which nothing else remains
        batch, arguments = views.to_test(torch.arange(size), generator())
        assert batch.num_graphs == arguments["plan"].graph.num_graphs == size
    _, arguments = views.to_test(torch.arange(3), generator(), Bernoulli(0.5, r=7))
    assert arguments["plan"].runs.num_copies == 3 * 7


def test_the_global_state_is_left_alone() -> None:
    """By building, by steps, and by a step that fails."""
    before = torch.get_rng_state()
    one = learner(Bernoulli(0.1, r=3))
    views = Views(one.model, four_cycles())
    seen = next(iter(views.to_train([torch.arange(4)], generator())))
    one.step(seen, auxiliary_share=0.3)
    with pytest.raises(InvalidArgument, match=r"'unknown' is no input of GIN\.forward"):
        one.step((seen[0], {"unknown": 1}), auxiliary_share=0.3)
    assert torch.equal(torch.get_rng_state(), before)


def test_an_epoch_without_batches_moves_only_the_learning_rate() -> None:
    ones = [learner(Bernoulli(0.1, r=3), seed=seed) for seed in (0, 1)]
    views = Views(ones[0].model, four_cycles())
    losses = learn_epoch(ones, views.to_train([torch.arange(4)], generator()), auxiliary_share=0.3)
    assert losses[0] != losses[1]
    assert learn_epoch(ones, [], auxiliary_share=0.3) == [0.0, 0.0]
    assert [one.scheduler.last_epoch for one in ones] == [2, 2]


def test_weights_are_kept_and_recalled() -> None:
    one = learner(Bernoulli(0.1, r=3))
    views, first = Views(one.model, four_cycles()), {}
    for step, seen in enumerate(views.to_train([torch.arange(4)] * 3, generator())):
        one.step(seen, auxiliary_share=0.3)
        if step == 1:
            one.keep()
            first = {name: value.clone() for name, value in one.model.state_dict().items()}
    moved = one.model.state_dict()
    assert any(not torch.equal(value, first[name]) for name, value in moved.items())
    one.recall()
    assert all(torch.equal(value, first[name]) for name, value in one.model.state_dict().items())


def test_models_may_have_a_sampler_for_evaluation() -> None:
    model = learner(Exhaustive(0.1, k=1)).model
    model.eval_sampler = Exhaustive(0.1, k=2)
    _, arguments = Views(model, four_cycles()).to_test(torch.arange(2), generator())
    assert arguments["plan"].runs.num_copies == 2 * (1 + 16 + 120)


def test_seeded_weights_leave_all_states_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of GPUs, too, which torch.manual_seed would seed."""
    seeded: list[int] = []
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seeded.append)
    before = torch.get_rng_state()
    learner(Bernoulli(0.1, r=3))
    assert torch.equal(torch.get_rng_state(), before)
    assert not seeded
