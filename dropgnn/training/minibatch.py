"""Training on batches of graphs, as the paper does on real data: epochs of random batches, drawn with replacement."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import StepLR
from torch_geometric.data import Data

from dropgnn.model.dropgnn import DropGNN
from dropgnn.training.loop import inputs

LEARNING_RATE, HALVED_EVERY = 0.01, 50


def optimizer_of(model: DropGNN) -> tuple[Optimizer, StepLR]:
    """Adam with learning rate 0.01, halved every 50 epochs."""
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE, fused=True)
    return optimizer, StepLR(optimizer, step_size=HALVED_EVERY, gamma=0.5)


def random_batches(train: Tensor, *, batches: int, size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """So many batches of graphs out of the training part; a graph may come more than once."""
    for _ in range(batches):
        yield train[torch.randint(train.numel(), (size,), generator=generator)]


def train_step(
    model: DropGNN, batch: Data, arguments: dict[str, Any], optimizer: Optimizer, *, auxiliary_share: float
) -> float:
    """One step, and the loss before it. A model without auxiliary head has no auxiliary loss."""
    optimizer.zero_grad()
    outcome = model(*inputs(batch), return_outcome=True, **arguments)
    loss = outcome.loss(batch.y, auxiliary_share=None if model.auxiliary is None else auxiliary_share)
    loss.backward()
    optimizer.step()
    return loss.item()


@torch.no_grad()
def share_right(model: DropGNN, batch: Data, arguments: dict[str, Any]) -> float:
    """The share of graphs predicted right, in evaluation mode."""
    model.eval()
    prediction = model(*inputs(batch), **arguments).argmax(dim=1)
    return int((prediction == batch.y).sum()) / batch.y.numel()
