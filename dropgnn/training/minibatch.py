"""Training on batches of graphs, as the paper does on real data: epochs of random batches, drawn with replacement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import StepLR
from torch_geometric.data import Data

from dropgnn.nn.model import DropGNN
from dropgnn.runs.samplers import Sampler
from dropgnn.training.loop import Augment, inputs, unchanged

LEARNING_RATE, HALVED_EVERY = 0.01, 50


def optimizer_of(model: DropGNN) -> tuple[Optimizer, StepLR]:
    """Adam with learning rate 0.01, halved every 50 epochs."""
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE, fused=True)
    return optimizer, StepLR(optimizer, step_size=HALVED_EVERY, gamma=0.5)


def random_batches(train: Tensor, *, batches: int, size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """So many batches of graphs out of the training part; a graph may come more than once."""
    for _ in range(batches):
        yield train[torch.randint(train.numel(), (size,), generator=generator)]


def train_epoch(
    model: DropGNN,
    batches: Iterable[tuple[Data, dict[str, Any]]],
    optimizer: Optimizer,
    *,
    generator: torch.Generator,
    auxiliary_share: float,
    augment: Augment = unchanged,
) -> float:
    """One step per batch; returns the mean loss. ``batches`` come with the arguments for the model."""
    model.train()
    share = None if model.auxiliary is None else auxiliary_share
    losses = []
    for batch, arguments in batches:
        optimizer.zero_grad()
        seen = augment(batch, generator)
        outcome = model(*inputs(seen), return_outcome=True, **arguments)
        loss = outcome.loss(seen.y, auxiliary_share=share)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses) / max(len(losses), 1)


@torch.no_grad()
def share_right(
    model: DropGNN, batches: Sequence[tuple[Data, dict[str, Any]]], *, sampler: Sampler | None = None
) -> float:
    """The share of graphs predicted right, in evaluation mode; with another sampler than the model's, if one is given."""
    model.eval()
    usual = model.eval_sampler
    model.eval_sampler = sampler or usual
    right = total = 0
    try:
        for batch, arguments in batches:
            prediction = model(*inputs(batch), **arguments).argmax(dim=1)
            right += int((prediction == batch.y).sum())
            total += batch.y.numel()
    finally:
        model.eval_sampler = usual
    return right / total
