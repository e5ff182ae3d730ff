"""Batches of a dataset with their plans at hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from dropgnn.data.collection import Collection
from dropgnn.engine.parts import Parts
from dropgnn.errors import InvalidArgument, Unsupported, of_kind, yes_or_no
from dropgnn.graph import numbers_of
from dropgnn.model.dropgnn import DropGNN
from dropgnn.training.ahead import ahead, drawing, iterate, one_ahead
from dropgnn.training.loop import inputs

SEQUENCE = ("__len__", "__getitem__")


class PlannedBatches:
    """Batches of one dataset and the arguments with which the model takes their plans.

    Random runs are drawn and planned one batch ahead. Runs that are not random are planned once, for all graphs, and every
    batch takes its part, also one ahead.

    Args:
        model: Its encoder, mode and sampler are what is planned for; in training mode the sampler for training.
        graphs: The dataset; batches of a :class:`~dropgnn.data.collection.Collection` are made faster than those of a list.
        ahead: Whether a second thread does that; else it is done when it comes to the batch.

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

    def __init__(self, model: DropGNN, graphs: Sequence[Data] | Collection, *, ahead: bool = True) -> None:
        self.model, self.ahead = of_kind("model", model, DropGNN), yes_or_no("ahead", ahead)
        if isinstance(graphs, (str, bytes, Mapping, Data, Tensor)) or not all(
            hasattr(graphs, name) for name in SEQUENCE
        ):
            got = type(graphs).__name__
            raise InvalidArgument("graphs", "must be a list of PyG's Data, a dataset, or a Collection", got=got)
        self.graphs = graphs
        self.sampler = model.current_sampler
        self._parts = None if self.sampler.random or not model.can_plan else self._plan()

    def _plan(self) -> Parts | None:
        try:
            return Parts(self.model.plan(*inputs(self._batch(range(len(self.graphs))))))
        except Unsupported:  # each batch is planned by itself then
            return None

    def __call__(
        self, choices: Iterable[Sequence[int] | Tensor], *, generator: torch.Generator | None = None
    ) -> Iterator[tuple[Data, dict[str, Any]]]:
        """For each choice of graphs the batch, and the arguments for ``model``."""
        choices = iterate("choices", choices)
        if generator is not None:
            of_kind("generator", generator, torch.Generator, "e.g. torch.Generator().manual_seed(0)")
        return self._batches(choices, generator)

    def _batches(
        self, choices: Iterator[Sequence[int] | Tensor], generator: torch.Generator | None
    ) -> Iterator[tuple[Data, dict[str, Any]]]:
        if self.model.current_sampler is not self.sampler:
            raise Unsupported(
                f"these batches were planned for {self.sampler!r}, and the model now draws from "
                f"{self.model.current_sampler!r}; make others for that"
            )
        if self._parts is not None:
            yield from (one_ahead if self.ahead else map)(partial(self._with_part, self._parts), choices)
        elif self.ahead:
            yield from ahead(self.model, map(self._batch, choices), generator=generator)
        else:
            yield from map(drawing(self.model, generator=generator), map(self._batch, choices))

    def _with_part(self, parts: Parts, chosen: Sequence[int] | Tensor) -> tuple[Data, dict[str, Any]]:
        chosen = numbers_of(chosen, len(self.graphs))
        plan = parts.take(chosen)
        if not isinstance(self.graphs, Collection):
            return self._batch(chosen), {"plan": plan}
        graph = plan.graph  # the batch already, but for its labels
        batch = Data(
            x=graph.x, edge_index=graph.edge_index, edge_attr=graph.edge_attr, y=self.graphs.y[chosen], batch=graph.batch,
            num_nodes=graph.num_nodes, num_graphs=graph.num_graphs,
        )  # fmt: skip
        return batch, {"plan": plan}

    def _batch(self, chosen: Sequence[int] | Tensor) -> Data:
        if isinstance(self.graphs, Collection):
            return self.graphs.batch(chosen)
        chosen = numbers_of(chosen, len(self.graphs))
        if not chosen.numel():
            hint = "a Collection can make a batch without graphs"
            raise InvalidArgument("chosen", "must name at least one graph of a list", got="none", hint=hint)
        taken = [self.graphs[number] for number in chosen.tolist()]
        return Batch.from_data_list([of_kind("graphs", graph, Data, "a list of PyG's Data") for graph in taken])
