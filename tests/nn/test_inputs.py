"""A model is called as PyG's users call theirs, and everything the encoder names reaches every copy."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch_geometric.nn as pyg
from torch import Tensor
from torch_geometric.data import Batch, Data

from dropgnn import GIN, Bernoulli, DropGNN, Exhaustive
from dropgnn.engine.parts import Parts
from dropgnn.runs.modes import MODES
from dropgnn.runs.samplers import Sampler
from tests.conftest import generator


class Places(torch.nn.Module):
    """Weights of edges, places and kinds of nodes."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = pyg.GraphConv(3, 4), pyg.GCNConv(4, 4)
        self.place, self.kind = torch.nn.Linear(2, 4), torch.nn.Embedding(5, 4)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor, pos: Tensor, z: Tensor) -> Tensor:
        x = self.first(x, edge_index, edge_weight).relu() + self.place(pos) * self.kind(z)
        return self.second(x, edge_index, edge_weight)


class OfData(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.places = Places()

    def forward(self, data: Any) -> Tensor:
        return self.places(data.x, data.edge_index, data.edge_weight, data.pos, data.z)


class PooledData(OfData):
    def forward(self, data: Any) -> Tensor:
        return pyg.global_add_pool(super().forward(data).tanh(), data.batch)


def one(nodes: int, seed: int) -> Data:
    source = torch.Generator().manual_seed(seed)
    edges = torch.randint(nodes, (2, 2 * nodes), generator=source)
    weight = torch.randint(1, 3, (2 * nodes,), generator=source).double()
    return Data(
        x=torch.eye(3, dtype=torch.float64)[torch.randint(3, (nodes,), generator=source)],
        edge_index=torch.cat([edges, edges.flip(0)], dim=1),
        edge_weight=torch.cat([weight, weight]),
        pos=torch.randint(2, (nodes, 2), generator=source).double(),
        z=torch.randint(5, (nodes,), generator=source),
        y=torch.tensor([1]),
    )


BATCH = Batch.from_data_list([one(6, 1), one(5, 2)])


@pytest.mark.parametrize("sampler", [Bernoulli(0.3, 5), Exhaustive(0.2, k=1)], ids=repr)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("kind", "pooled"), [(Places, False), (OfData, False), (PooledData, True)])
@pytest.mark.filterwarnings("error::dropgnn.errors.NotShared")
def test_engines_agree_on_everything_extra(kind: type, pooled: bool, mode: str, sampler: Sampler) -> None:
    torch.manual_seed(0)
    encoder = kind().double()

    def predict(engine: str, *, planned: bool = False) -> Tensor:
        model = DropGNN(encoder, sampler, mode, engine=engine, pooled=pooled, generator=generator(3))
        return model(BATCH, plan=model.plan(BATCH) if planned else None)

    expected = predict("reference")
    for found in (predict("batched"), predict("shared"), predict("shared", planned=True)):
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


def test_data_is_the_same_as_its_tensors() -> None:
    model = DropGNN(Places().double(), Bernoulli(0.3, 5))
    more = {"edge_weight": BATCH.edge_weight, "pos": BATCH.pos, "z": BATCH.z}
    by_name = model(BATCH.x, BATCH.edge_index, batch=BATCH.batch, generator=generator(), **more)
    assert torch.equal(model(BATCH, generator=generator()), by_name)
    assert torch.equal(model(BATCH.x, BATCH.edge_index, BATCH.batch, generator=generator(), **more), by_name)


def test_what_the_encoder_does_not_name_is_left_out() -> None:
    gin = DropGNN(GIN(3, 4, 2).double(), Bernoulli(0.3, 5))
    expected = gin(BATCH.x, BATCH.edge_index, batch=BATCH.batch, generator=generator())
    assert torch.equal(gin(BATCH, generator=generator()), expected)


def test_parts_of_a_plan_keep_what_is_extra() -> None:
    model = DropGNN(Places().double(), Exhaustive(0.2, k=1), engine="shared")
    parts = Parts(model.plan(BATCH))
    alone = Batch.from_data_list([BATCH[1]])
    torch.testing.assert_close(model(alone, plan=parts.take([1])), model(BATCH)[6:], rtol=1e-9, atol=1e-9)


def test_gradients_of_what_is_extra() -> None:
    places = BATCH.pos.clone().requires_grad_()
    weight = BATCH.edge_weight.clone().requires_grad_()
    found = []
    torch.manual_seed(0)
    encoder = Places().double()
    for engine in ("batched", "shared"):
        model = DropGNN(encoder, Bernoulli(0.3, 5), engine=engine)
        out = model(
            BATCH.x, BATCH.edge_index, BATCH.batch, edge_weight=weight, pos=places, z=BATCH.z, generator=generator()
        )
        found.append(torch.autograd.grad(out.sin().sum(), (places, weight)))
    for one_engine, other in zip(*found, strict=True):
        torch.testing.assert_close(one_engine, other, rtol=1e-9, atol=1e-9)
