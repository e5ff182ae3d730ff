"""One contestant on one workload."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from benchmarks.workloads import Workload
from dropgnn.engine.parts import Parts
from dropgnn.engine.plan import SharedPlan
from dropgnn.nn import DropGNN
from dropgnn.training.ahead import ahead, one_ahead
from dropgnn.training.loop import inputs
from dropgnn.training.seeds import seeded_weights


class Plain(torch.nn.Module):
    """One run of the base GNN, as anyone would write it."""

    def __init__(self, encoder: torch.nn.Module, head: torch.nn.Module | None) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, batch: Tensor, num_graphs: int
    ) -> Tensor:
        if self.head is None:
            return self.encoder(x, edge_index, batch=batch)
        given = () if edge_attr is None else (edge_attr,)
        return self.head(self.encoder(x, edge_index, *given), batch, num_graphs)


class Trainer:
    """A model, its batches and its optimiser.

    Every contestant has the same number of threads. With two of them torch takes both, or one while the other plans.
    """

    def __init__(self, workload: Workload, contestant: str, *, threads: int) -> None:
        self.graphs = workload.graphs()
        order = torch.Generator().manual_seed(0)
        size = min(workload.batch_size, len(self.graphs))
        self.chosen = [torch.randperm(len(self.graphs), generator=order)[:size] for _ in range(workload.steps)]
        self.batches = [Batch.from_data_list([self.graphs[i] for i in chosen.tolist()]) for chosen in self.chosen]
        regression = self.graphs[0].y.is_floating_point()
        outputs = 1 if regression else int(max(int(graph.y.max()) for graph in self.graphs)) + 1
        self.criterion: Callable[..., Tensor] = (
            torch.nn.functional.mse_loss if regression else torch.nn.functional.cross_entropy
        )
        with seeded_weights(0):
            encoder = workload.encoder(self.graphs[0])
            heads = [None if workload.head is None else workload.head(encoder, outputs) for _ in range(2)]
            self.model: torch.nn.Module = Plain(encoder, heads[0])
            if contestant != "plain":
                self.model = DropGNN(
                    encoder, workload.sampler(self.graphs), workload.mode, head=heads[0],
                    auxiliary=heads[1] if workload.auxiliary else None, engine=contestant, pooled=workload.head is None,
                    generator=torch.Generator().manual_seed(0),
                )  # fmt: skip
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.001, fused=True)
        self.keeps_plan = contestant == "shared" and workload.exhaustive
        self.plans_ahead = contestant == "shared" and workload.plans_ahead and threads > 1
        self.torch_threads = threads - 1 if self.plans_ahead else threads

    @cached_property
    def parts(self) -> Parts:
        """The plan for the whole dataset, which training makes once."""
        assert isinstance(self.model, DropGNN)
        return Parts(self.model.plan(*inputs(Batch.from_data_list(self.graphs))))

    def train(self) -> None:
        """Forward, backward and optimiser step on every batch; drawing, planning or taking a part of a plan included."""
        torch.set_num_threads(self.torch_threads)
        if isinstance(self.model, DropGNN):
            for batch, arguments in self.ready(self.model):
                outcome = self.model(*inputs(batch), return_outcome=True, **arguments)
                self._step(outcome.loss(batch.y, self.criterion))
        else:
            for batch in self.batches:
                self._step(self.criterion(self.model(*inputs(batch)), batch.y))

    def ready(self, model: DropGNN, *, planned: bool = False) -> Iterable[tuple[Data, dict[str, Any]]]:
        """Batches and the plans for them, where these are not left to the model; with ``planned``, in any case."""
        if self.keeps_plan or (planned and not self.plans_ahead):
            numbers, each = range(len(self.batches)), one_ahead if self.plans_ahead else map
            return each(lambda number: (self.batches[number], {"plan": self.plan(number)}), numbers)
        return ahead(model, self.batches) if self.plans_ahead else ((batch, {}) for batch in self.batches)

    def plan(self, number: int) -> SharedPlan:
        """The plan for a batch: a part of the dataset's, or drawn and planned now."""
        assert isinstance(self.model, DropGNN)
        return (
            self.parts.take(self.chosen[number]) if self.keeps_plan else self.model.plan(*inputs(self.batches[number]))
        )

    def bound(self) -> dict[str, float]:
        """What the price could be: distinct rows and edges that the layers compute, over those of a plain step."""
        plan, batch = self.plan(0), self.batches[0]
        levels = plan.levels[1:]
        rows, edges = (sum(one.num_states for one in levels), sum(one.sender.numel() for one in levels))
        layers = max(len(levels), 1)
        return {"rows": rows / (layers * batch.num_nodes), "edges": edges / (layers * max(batch.num_edges, 1))}

    def _step(self, loss: Tensor) -> None:
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
