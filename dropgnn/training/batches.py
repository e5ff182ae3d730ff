"""Batches of a dataset with their plans at hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from torch_geometric.data import Batch, Data

from dropgnn.engine.parts import Parts
from dropgnn.errors import Unsupported
from dropgnn.nn.model import DropGNN
from dropgnn.training.ahead import ahead
from dropgnn.training.loop import inputs


class PlannedBatches:
    """Batches of one dataset and the arguments with which the model takes their plans.

    Random runs are drawn and planned one batch ahead. Runs that are not random are planned once, for all graphs, and every
    batch takes its part.

    Args:
        model: Its encoder, mode and sampler are what is planned for; in training mode the sampler for training.
        graphs: The dataset.

    >>> from dropgnn import GIN, Exhaustive
    >>> from dropgnn.data.synthetic import task
    >>> graphs = list(task("four_cycles", 0).graphs)
    >>> for graph in graphs:
    ...     graph.edge_attr = None
    >>> model = DropGNN(GIN(1, 4, 2), Exhaustive(0.1, k=1))
    >>> for batch, arguments in PlannedBatches(model, graphs)([[0, 1], [2, 3, 4]]):
    ...     print(model(*inputs(batch), **arguments).shape)
    torch.Size([32, 9])
    torch.Size([48, 9])
    """

    def __init__(self, model: DropGNN, graphs: Sequence[Data]) -> None:
        self.model, self.graphs, self.training = model, graphs, model.training
        self._parts = None if model.current_sampler.random or not model.can_plan else self._plan()

    def _plan(self) -> Parts | None:
        try:
            return Parts(self.model.plan(*inputs(Batch.from_data_list(self.graphs))))
        except Unsupported:  # each batch is planned by itself then
            return None

    def __call__(
        self, choices: Iterable[Sequence[int]], *, generator: torch.Generator | None = None
    ) -> Iterator[tuple[Data, dict[str, Any]]]:
        """For each choice of graphs the batch, and the arguments for ``model``."""
        if self.model.training != self.training:
            now, then = (("training" if mode else "evaluation") for mode in (self.model.training, self.training))
            raise Unsupported(
                f"these batches were planned for {then}, and the model is in {now} mode; make others for that"
            )
        if self._parts is None:
            yield from ahead(self.model, map(self._batch, choices), generator=generator)
            return
        for chosen in choices:
            yield self._batch(chosen), {"plan": self._parts.take(chosen)}

    def _batch(self, chosen: Sequence[int]) -> Data:
        return Batch.from_data_list([self.graphs[index] for index in chosen])
