"""On distinct rows each program means what it means copy by copy, or it is run so."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from dropgnn import Bernoulli, Graph
from dropgnn.engine.batched import batched
from dropgnn.engine.intercept import install
from dropgnn.engine.shared import share
from dropgnn.runs.modes import ZeroInputs
from tests.engine.programs import MODULES, PROGRAMS, WIDTH


class Program(torch.nn.Module):
    """An encoder whose ``forward`` is a program."""

    def __init__(self, run: Callable[..., Tensor]) -> None:
        super().__init__()
        torch.manual_seed(0)
        for name, make in MODULES.items():
            self.add_module(name, make())
        self.run = run

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.run(self, x, edge_index)


def batch_of_graphs() -> Graph:
    """A ring, a path and a node alone; two kinds of nodes."""
    ring = torch.arange(6)
    forth = torch.cat([torch.stack([ring, (ring + 1) % 6]), torch.tensor([[6, 7, 8], [7, 8, 9]])], dim=1)
    edges = torch.cat([forth, forth.flip(0)], dim=1)
    x = torch.randn(2, WIDTH, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    kinds = torch.tensor([0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 1])
    return Graph.of(x[kinds], edges, batch=torch.tensor([0] * 6 + [1] * 4 + [2]), num_graphs=3)


def observe(encoder: torch.nn.Module, run: Callable[..., Any], *, training: bool, gradients: bool) -> dict[str, Tensor]:
    encoder = copy.deepcopy(encoder).train(training)
    graph = batch_of_graphs()
    runs = Bernoulli(0.25, 5)(graph, items="nodes", generator=torch.Generator().manual_seed(2))
    torch.manual_seed(5)
    with torch.set_grad_enabled(gradients):
        found = run(encoder, ZeroInputs(), graph, runs)
        total = (found[0] if isinstance(found, tuple) else found).sums()
    seen = {"rows": total.detach()}
    if gradients:
        direction = torch.randn(total.shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
        (total * direction).sum().backward()
        seen |= {
            f"gradient of {name}": torch.zeros_like(p) if p.grad is None else p.grad
            for name, p in encoder.named_parameters()
        }
    return seen | {f"buffer {name}": buffer for name, buffer in encoder.named_buffers()}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("gradients", [True, False], ids=["gradients", "none"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_means_what_it_means_copy_by_copy(name: str, gradients: bool) -> None:
    install()
    encoder = Program(PROGRAMS[name]).double()
    for training in (True, False):
        expected = observe(encoder, batched, training=training, gradients=gradients)
        found = observe(encoder, share, training=training, gradients=gradients)
        for part, value in expected.items():
            torch.testing.assert_close(found[part], value, rtol=1e-8, atol=1e-8, msg=f"{part}, training={training}")


SHARED_TO_THE_END = {
    "linear", "gin", "gat", "lstm_over_layers", "lstm_of_one_step", "lstm_last_state", "gru_cell", "gru_cell_without_state",
    "jumping_knowledge", "batch_norm_between", "add_in_place", "add_in_place_to_an_alias", "relu_in_place",
    "relu_module_in_place", "asks_isinstance", "asks_type", "asks_is_tensor", "divides_by_the_number_of_rows", "length",
    "detaches", "checkpoint_of_layers", "asks_of_gradients", "where_positive", "ranks_of_columns", "softmax_over_columns",
    "heads", "chunks", "catches_errors", "slices_of_columns_side_by_side", "leaky_relu_in_place", "relu_in_place_by_position",
    "last_state_looked_at_without_gradient",
}  # fmt: skip
"""Programs in which every row is a function of the row before and of layers."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_shared_to_the_end(name: str) -> None:
    install()
    graph = batch_of_graphs()
    runs = Bernoulli(0.25, 5)(graph, items="nodes", generator=torch.Generator().manual_seed(2))
    _, sharing = share(Program(PROGRAMS[name]).double(), ZeroInputs(), graph, runs)
    assert (not sharing.ended) == (name in SHARED_TO_THE_END), sharing.ended
