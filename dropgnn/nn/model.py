"""DropGNN itself: the constructor spells the paper's equation."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Literal, NamedTuple, overload

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from dropgnn.engine import ENGINES, Embedded
from dropgnn.engine.layers import as_layered
from dropgnn.engine.norm import takes_batch_statistics, weigh_norms
from dropgnn.engine.whole import check_wrappable
from dropgnn.errors import InvalidArgument, Unsupported
from dropgnn.graph import Graph
from dropgnn.nn.aggregate import AGGREGATORS, Aggregator, Collected, TransformSum
from dropgnn.nn.checks import check_inputs, check_runs
from dropgnn.nn.outcome import Outcome
from dropgnn.runs.modes import MODES, Mode
from dropgnn.runs.runs import Runs
from dropgnn.runs.samplers import Bernoulli, Sampler
from dropgnn.theory.plan import HasEdges, RunPlan


class _Part(NamedTuple):
    """What one chunk of runs contributes."""

    collected: Collected
    auxiliary: Tensor | None
    owner: Tensor
    weight: Tensor


class DropGNN(torch.nn.Module):
    r"""A GNN run many times with nodes dropped, in training and in testing alike (Papp et al., NeurIPS 2021).

    .. math::
        \mathrm{DropGNN}(G) = \mathrm{head}\big(\mathrm{aggregator}_{i=1..r}\;
        \mathrm{encoder}(\mathrm{mode}(G, S_i))\big), \qquad S_i \sim \mathrm{sampler}

    Args:
        encoder: The GNN: one of ours, a PyG ``BasicGNN``, or any module called as ``encoder(x, edge_index, ...)``.
            Plain batch norms inside an encoder that comes apart into layers learn to take weights.
        sampler: Draws the dropped sets.
        mode: What dropping does: ``"zero"`` (the paper's experiments), ``"zero-layers"``, ``"remove"`` (the paper's
            definition), ``"edges"``, ``"receive-only"``, or a :class:`~dropgnn.runs.modes.Mode`.
        aggregator: How a node's runs become one: ``"mean"``, ``"sum"``, ``"max"``, ``"transform-sum"``, or an
            :class:`~dropgnn.nn.aggregate.Aggregator`.
        head: Turns embeddings into predictions; ``None`` returns the embeddings themselves.
        auxiliary: A head applied to each single run, for :meth:`Outcome.loss`.
        eval_sampler: Another sampler for evaluation, e.g. exhaustive runs after training on random ones.
        engine: ``"batched"`` or ``"reference"``.
        chunk: Execute at most this many copies of each graph at a time. Bounds memory by the chunk instead of by r;
            with gradients the chunks are computed again in the backward pass.
        pooled: Whether the encoder itself pools to one row per graph; runs are then aggregated per graph.
        generator: The source of randomness where the call brings none.

    Shapes:
        x ``[N, F]``, edge_index ``[2, E]``, edge_attr ``[E, D]``, batch ``[N]``; output ``[N, out]`` for heads on rows,
        ``[G, out]`` for heads that take a ``batch``.

    >>> from dropgnn import GIN, Bernoulli
    >>> gin = GIN(in_channels=1, hidden_channels=8, num_layers=2)
    >>> model = DropGNN(gin, Bernoulli(p=0.1, r=20), generator=torch.Generator().manual_seed(0))
    >>> model(torch.ones(4, 1), torch.tensor([[0, 1, 2], [1, 2, 3]])).shape
    torch.Size([4, 17])
    """

    def __init__(
        self,
        encoder: torch.nn.Module,
        sampler: Sampler,
        mode: str | Mode = "zero",
        aggregator: str | Aggregator = "mean",
        head: torch.nn.Module | None = None,
        *,
        auxiliary: torch.nn.Module | None = None,
        eval_sampler: Sampler | None = None,
        engine: str = "batched",
        chunk: int | None = None,
        pooled: bool = False,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        check_wrappable(encoder)
        ENGINES[engine]  # an unknown name is an error now, not at the first call
        for name, value in (("sampler", sampler), ("eval_sampler", eval_sampler)):
            if value is not None and not isinstance(value, Sampler):
                raise InvalidArgument(name, "must be a Sampler, e.g. Bernoulli(p=0.1, r=20)", got=repr(value))
        if sampler is None:
            raise InvalidArgument("sampler", "must be a Sampler, e.g. Bernoulli(p=0.1, r=20)", got=None)
        if chunk is not None and chunk < 1:
            raise InvalidArgument("chunk", "must be at least 1", got=chunk)
        if auxiliary is not None and not pooled and _takes_batch(head) != _takes_batch(auxiliary):
            raise InvalidArgument(
                "auxiliary", "must predict what head predicts, nodes or graphs", got=type(auxiliary).__name__
            )
        self.encoder = encoder
        self.sampler, self.eval_sampler = sampler, eval_sampler
        self.mode = MODES[mode]() if isinstance(mode, str) else mode
        self.aggregator = _aggregator(aggregator, encoder) if isinstance(aggregator, str) else aggregator
        self.head, self.auxiliary = head, auxiliary
        self.engine = engine
        self.chunk, self.pooled, self.generator = chunk, pooled, generator

        layered = None if pooled else as_layered(encoder)
        if layered is not None:
            weigh_norms(encoder, leave=[layer.opaque for layer in layered.layers() if layer.opaque is not None])

    @classmethod
    def planned(
        cls,
        encoder: torch.nn.Module,
        graphs: Iterable[HasEdges] | HasEdges,
        *,
        seed: int,
        hops: int | None = None,
        **arguments: object,
    ) -> DropGNN:
        """A DropGNN with the paper's p and r for these graphs: the one line that makes a GNN stronger.

        Args:
            encoder: The GNN.
            graphs: One graph or many, as for :meth:`RunPlan.of`.
            seed: For the runs.
            hops: The neighbourhood of interest; by default as many hops as the encoder has layers.
            arguments: Anything else :class:`DropGNN` takes.
        """
        if hops is None:
            layered = as_layered(encoder)
            if layered is None:
                raise InvalidArgument(
                    "hops", f"must be given: we cannot count the layers of {type(encoder).__name__}", got=None
                )
            hops = len(layered.layers())
        plan = RunPlan.of(graphs, hops=hops)
        arguments.setdefault("generator", torch.Generator().manual_seed(seed))
        return cls(encoder, Bernoulli(plan.p, plan.runs), **arguments)  # type: ignore[arg-type]

    @overload
    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        edge_attr: Tensor | None = ...,
        batch: Tensor | None = ...,
        num_graphs: int | None = ...,
        *,
        runs: Runs | None = ...,
        generator: torch.Generator | None = ...,
        return_outcome: Literal[False] = ...,
    ) -> Tensor: ...

    @overload
    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        edge_attr: Tensor | None = ...,
        batch: Tensor | None = ...,
        num_graphs: int | None = ...,
        *,
        runs: Runs | None = ...,
        generator: torch.Generator | None = ...,
        return_outcome: Literal[True],
    ) -> Outcome: ...

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        edge_attr: Tensor | None = None,
        batch: Tensor | None = None,
        num_graphs: int | None = None,
        *,
        runs: Runs | None = None,
        generator: torch.Generator | None = None,
        return_outcome: bool = False,
    ) -> Tensor | Outcome:
        """Predict for nodes or graphs.

        Args:
            x, edge_index, edge_attr, batch, num_graphs: As for :meth:`dropgnn.Graph.of`.
            runs: Use these runs instead of drawing some.
            generator: The source of randomness for this call.
            return_outcome: Return an :class:`Outcome` with single-run predictions and a loss, not the prediction alone.
        """
        graph = Graph.of(x, edge_index, edge_attr, batch, num_graphs)
        check_inputs(self.encoder, graph, pooled=self.pooled)
        if runs is None:
            runs = self.draw(graph, generator=generator)
        runs = runs.to(x.device)
        check_runs(runs, graph, self.mode, pooled=self.pooled)
        self._check_auxiliary(runs)

        parts = self._parts(graph, runs)
        collected = parts[0].collected
        for part in parts[1:]:
            collected = self.aggregator.merge(collected, part.collected)
        owners = torch.ones_like(graph.nodes_per_graph) if self.pooled else graph.nodes_per_graph
        embedding = self.aggregator.finish(collected, runs.copies_averaged(owners))
        prediction = self._predict(self.head, embedding, graph.batch, graph.num_graphs)
        if not return_outcome:
            return prediction
        auxiliary = [part.auxiliary for part in parts if part.auxiliary is not None]
        return Outcome(
            prediction,
            embedding,
            torch.cat(auxiliary) if auxiliary else None,
            torch.cat([part.owner for part in parts]),
            torch.cat([part.weight for part in parts]),
            runs,
        )

    @property
    def predicts_graphs(self) -> bool:
        """Whether there is one prediction per graph; otherwise there is one per node."""
        return self.pooled or _takes_batch(self.head)

    def draw(self, graph: Graph, *, generator: torch.Generator | None = None) -> Runs:
        """Runs for a batch, from the sampler of the current mode (training or evaluation)."""
        sampler = self.sampler if self.training or self.eval_sampler is None else self.eval_sampler
        return sampler(graph, items=self.mode.items, generator=self.generator if generator is None else generator)

    def _parts(self, graph: Graph, runs: Runs) -> list[_Part]:
        """Execute the runs, chunk by chunk."""
        if self.chunk is None or int(runs.copies_per_graph.max() if runs.num_graphs else 0) <= self.chunk:
            return [self._run(graph, runs)]
        for module in (self.encoder, self.aggregator, self.auxiliary):
            if module is not None and takes_batch_statistics(module):
                raise Unsupported(
                    f"chunk={self.chunk} would take the batch statistics of {type(module).__name__} chunk by chunk while "
                    "training; train with chunk=None, or call .eval() on its batch norms"
                )
        if torch.is_grad_enabled():
            return [checkpoint(self._run, graph, part, use_reentrant=False) for part in runs.split(self.chunk)]
        return [self._run(graph, part) for part in runs.split(self.chunk)]

    def _run(self, graph: Graph, runs: Runs) -> _Part:
        embedded = ENGINES[self.engine](self.encoder, self.mode, graph, runs, pooled=self.pooled)
        if self.pooled:
            weight, num_owners = runs.weight[embedded.copy], graph.num_graphs
        else:
            weight, num_owners = runs.row_weights(embedded.owner, embedded.copy), graph.num_nodes
        collected = self.aggregator.collect(embedded.x, embedded.owner, weight, num_owners)
        if self.auxiliary is None:
            return _Part(collected, None, embedded.owner, weight)
        return _Part(collected, *self._predict_single_runs(embedded, weight, runs))

    def _predict_single_runs(self, embedded: Embedded, weight: Tensor, runs: Runs) -> tuple[Tensor, Tensor, Tensor]:
        """Auxiliary predictions, what they are about, and how much they count."""
        auxiliary = self._predict(self.auxiliary, embedded.x, embedded.copy, runs.num_copies)
        if _takes_batch(self.auxiliary) and not self.pooled:
            return auxiliary, runs.graph, runs.weight
        return auxiliary, embedded.owner, weight

    def _predict(self, head: torch.nn.Module | None, x: Tensor, batch: Tensor, num_graphs: int) -> Tensor:
        if head is None:
            return x
        return head(x, batch, num_graphs) if _takes_batch(head) and not self.pooled else head(x)

    def _check_auxiliary(self, runs: Runs) -> None:
        if not runs.equally_weighted and self.auxiliary is not None and takes_batch_statistics(self.auxiliary):
            raise Unsupported("an auxiliary head with batch norm cannot train on copies of unequal weight")

    def extra_repr(self) -> str:
        evaluation = f", eval_sampler={self.eval_sampler!r}" if self.eval_sampler is not None else ""
        return f"sampler={self.sampler!r}{evaluation}, mode={self.mode!r}, engine={self.engine!r}"


def _takes_batch(head: torch.nn.Module | None) -> bool:
    return head is not None and "batch" in inspect.signature(head.forward).parameters


def _aggregator(name: str, encoder: torch.nn.Module) -> Aggregator:
    kind = AGGREGATORS[name]
    if kind is not TransformSum:
        return kind()
    width = getattr(encoder, "out_channels", None)
    if not isinstance(width, int):
        raise InvalidArgument(
            "aggregator",
            "must be given its width: the encoder has no out_channels",
            got=repr(name),
            hint="pass aggregator=TransformSum(in_channels=...)",
        )
    return TransformSum(width)
