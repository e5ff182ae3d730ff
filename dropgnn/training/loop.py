"""Training on a whole dataset as one batch, as the paper does for the synthetic tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.optim import Optimizer
from torch.optim.lr_scheduler import ConstantLR, CosineAnnealingLR, LRScheduler
from torch_geometric.data import Data
from torch_geometric.data.data import BaseData

from dropgnn.errors import of_kind, real_number, whole_number
from dropgnn.model.dropgnn import DropGNN
from dropgnn.model.outcome import AUXILIARY_SHARE
from dropgnn.registry import Registry

Augment = Callable[[Data, torch.Generator], Data]
"""What is done to the batch before every forward pass, e.g. a fresh random feature."""

SCHEDULES = Registry[Callable[[Optimizer, int], LRScheduler]](
    "schedule",
    {
        "constant": lambda optimizer, epochs: ConstantLR(optimizer, factor=1.0, total_iters=0),
        "cosine": lambda optimizer, epochs: CosineAnnealingLR(optimizer, T_max=epochs),
    },
)


def unchanged(data: Data, generator: torch.Generator) -> Data:
    """The augmentation that does nothing."""
    return data


def fit(
    model: DropGNN,
    batch: Data,
    *,
    epochs: int,
    generator: torch.Generator,
    augment: Augment = unchanged,
    learning_rate: float = 0.01,
    schedule: str = "constant",
    auxiliary_share: float = AUXILIARY_SHARE,
    on_epoch: Callable[[int, float], None] | None = None,
) -> None:
    """Adam, one step per epoch.

    With a constant learning rate the running statistics of batch norm lag behind weights that still move, and
    evaluation may then fail where training succeeds; a cosine decay lets them catch up.

    Args:
        model: A model with a head; changed in place.
        batch: Graphs with ``x``, ``edge_index``, ``batch``, ``y`` and, where the encoder wants it, ``edge_attr``.
        epochs: Number of steps.
        generator: Randomness of runs and augmentation.
        augment: Applied to the batch before every step.
        learning_rate: The paper's 0.01.
        schedule: ``"constant"`` (the paper) or ``"cosine"``, down to zero at the last epoch.
        auxiliary_share: The auxiliary loss' share of the whole, where the model has an auxiliary head.
        on_epoch: Told the epoch, from 1, and its loss.
    """
    of_kind("model", model, DropGNN)
    epochs = whole_number("epochs", epochs, least=1)
    learning_rate = real_number("learning_rate", learning_rate, least=0.0)
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate, fused=True)
    scheduler = SCHEDULES[schedule](optimizer, epochs)
    model.train()
    # Runs that are not random are the same in every epoch, and so is their plan.
    runs: dict[str, Any] = {"generator": generator}
    if augment is unchanged and not model.sampler.random and model.can_plan:
        runs = {"plan": model.plan(*inputs(batch))}
    for epoch in range(1, epochs + 1):
        optimizer.zero_grad()
        seen = augment(batch, generator)
        outcome = model(*inputs(seen), return_outcome=True, **runs)
        loss = outcome.loss(seen.y, auxiliary_share=None if model.auxiliary is None else auxiliary_share)
        loss.backward()
        optimizer.step()
        scheduler.step()
        if on_epoch is not None:
            on_epoch(epoch, loss.item())


@torch.no_grad()
def accuracy(model: DropGNN, batch: Data, *, generator: torch.Generator, augment: Augment = unchanged) -> float:
    """The share of nodes or graphs predicted right, in evaluation mode."""
    of_kind("model", model, DropGNN).eval()
    seen = augment(batch, generator)
    return float((model(*inputs(seen), generator=generator).argmax(dim=1) == seen.y).double().mean())


def inputs(data: Data) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None, torch.Tensor, int]:
    """The positional arguments of ``DropGNN.forward`` from a PyG batch."""
    of_kind("data", data, BaseData, hint="e.g. Batch.from_data_list([data])")
    return data.x, data.edge_index, data.edge_attr, data.batch, data.num_graphs
