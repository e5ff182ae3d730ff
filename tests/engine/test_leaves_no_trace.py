"""What runs on distinct rows disturbs nobody: other threads, PyG itself, or a model whose forward raises."""

from __future__ import annotations

import copy
import io
import pickle
import threading
from typing import Any

import pytest
import torch
import torch_geometric.nn as pyg
from torch import Tensor
from torch_geometric.nn import MessagePassing

from dropgnn import Bernoulli, DropGNN
from dropgnn.engine.intercept import install
from dropgnn.errors import NotShared
from tests.conftest import awkward_batch, generator


class Own(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convs = torch.nn.ModuleList([pyg.GATv2Conv(3, 4), pyg.GraphConv(4, 4), pyg.GINConv(torch.nn.Linear(4, 4))])
        self.norm = torch.nn.BatchNorm1d(4)
        self.fails = False
        self.seen: Any = None

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        for conv in self.convs:
            x = self.norm(conv(x, edge_index)).relu()
            if self.fails:
                raise KeyError("something of the user's")
        return x


def model(encoder: torch.nn.Module | None = None, **arguments: Any) -> DropGNN:
    torch.manual_seed(0)
    return DropGNN(encoder or Own(), Bernoulli(0.3, 5), **arguments).double()


def predict(wrapped: DropGNN, seed: int = 0) -> Tensor:
    graph = awkward_batch()
    return wrapped(graph.x, graph.edge_index, graph.batch, generator=generator(seed))


def test_threads_do_not_disturb_each_other() -> None:
    models = [model(), model(pyg.GCN(3, 4, 2)), model().eval()]
    models.append(models[2])  # the same one in two threads
    expected = [[predict(copy.deepcopy(one), seed).detach() for seed in range(4)] for one in models[1:]]
    found: dict[int, list[Tensor]] = {}

    def work(number: int, one: DropGNN) -> None:
        found[number] = [predict(one, seed).detach() for seed in range(4)]

    models[1].eval()
    expected[0] = [predict(copy.deepcopy(models[1]), seed).detach() for seed in range(4)]
    threads = [threading.Thread(target=work, args=pair) for pair in enumerate(models)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, outs in enumerate(expected, start=1):
        for out, other in zip(found[number], outs, strict=True):
            assert torch.equal(out, other)


def test_a_forward_that_raises_leaves_the_model_as_it_was() -> None:
    wrapped = model()
    before = copy.deepcopy(wrapped.state_dict())
    drawn = torch.get_rng_state()
    wrapped.encoder.fails = True  # type: ignore[assignment]
    with pytest.raises(KeyError, match="something of the user's"):
        predict(wrapped)
    moved = {name for name, value in wrapped.state_dict().items() if not torch.equal(value, before[name])}
    assert moved <= {"encoder.norm.running_mean", "encoder.norm.running_var", "encoder.norm.num_batches_tracked"}
    assert int(wrapped.state_dict()["encoder.norm.num_batches_tracked"]) <= 1  # by the copies that were computed, once
    assert torch.equal(torch.get_rng_state(), drawn)
    wrapped.encoder.fails = False  # type: ignore[assignment]
    wrapped.load_state_dict(before)
    assert torch.equal(predict(wrapped), predict(model()))


def test_statistics_move_once_per_step() -> None:
    wrapped = model()
    predict(wrapped)
    assert int(wrapped.encoder.norm.num_batches_tracked) == 3  # type: ignore[union-attr, arg-type]  # three calls in a forward


def test_copies_and_pickles_made_inside_a_forward_hold_all_rows() -> None:
    class Keeps(Own):
        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            file = io.BytesIO()
            torch.save(x.detach(), file)
            self.seen = (copy.deepcopy(x.detach()), pickle.loads(pickle.dumps(x.detach())), file.getvalue())
            return super().forward(x, edge_index)

    wrapped = model(Keeps())
    out = predict(wrapped)
    copied, pickled, saved = wrapped.encoder.seen  # type: ignore[misc]
    loaded = torch.load(io.BytesIO(saved), weights_only=True)
    assert type(copied) is type(pickled) is type(loaded) is Tensor
    assert copied.size(0) == awkward_batch().num_nodes * 5
    assert torch.equal(copied, pickled)
    assert torch.equal(copied, loaded)
    assert torch.equal(out, predict(model()))


def test_layers_without_rows_are_called_as_ever() -> None:
    graph = awkward_batch()
    conv = pyg.GATConv(3, 4).double()
    install()
    install()
    wrapped = MessagePassing.__call__
    assert wrapped.__wrapped__.__qualname__.startswith("Module")  # once
    expected = conv.forward(graph.x, graph.edge_index)
    assert torch.equal(conv(graph.x, graph.edge_index), expected)
    assert torch.equal(conv(x=graph.x, edge_index=graph.edge_index), expected)
    pair = conv((graph.x, graph.x), graph.edge_index, return_attention_weights=True)
    assert len(pair) == 2


@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")
def test_compiled_and_scripted_parts_behave_as_without_us() -> None:
    class Parts(Own):
        def __init__(self) -> None:
            super().__init__()
            self.scripted = torch.jit.script(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh()))

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            return self.scripted(super().forward(x, edge_index))

    with pytest.warns(NotShared):
        shared = predict(model(Parts()))
    torch.testing.assert_close(shared, predict(model(Parts(), engine="batched")), rtol=1e-9, atol=1e-9)
