"""DropGNN itself: the constructor spells the paper's equation."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor
from torch_geometric.data.data import BaseData

from dropgnn.engine import ENGINES
from dropgnn.engine.heads import takes_batch
from dropgnn.engine.intercept import install
from dropgnn.engine.plan import SharedPlan
from dropgnn.engine.shared import check_shareable
from dropgnn.engine.whole import check_wrappable
from dropgnn.errors import InvalidArgument, Unsupported, of_kind, whole_number, yes_or_no
from dropgnn.graph import Graph
from dropgnn.model.aggregate import Aggregator, aggregator_by_name
from dropgnn.model.checks import check_parts, check_plan, check_runs
from dropgnn.model.embedding import Embedding
from dropgnn.model.inputs import graph_of
from dropgnn.model.outcome import Outcome
from dropgnn.model.passing import run_model
from dropgnn.model.sharing import SharingReport, report
from dropgnn.nn.encoder import check_inputs
from dropgnn.nn.norm import takes_batch_statistics
from dropgnn.runs.modes import MODES, Mode
from dropgnn.runs.runs import Runs
from dropgnn.runs.samplers import Bernoulli, Exhaustive, Sampler, Stratified
from dropgnn.theory.plan import HasEdges, RunPlan


class DropGNN(torch.nn.Module):
    r"""A GNN run many times with nodes dropped, in training and in testing alike (Papp et al., NeurIPS 2021).

    .. math::
        \mathrm{DropGNN}(G) = \mathrm{head}\big(\mathrm{aggregator}_{i=1..r}\;
        \mathrm{encoder}(\mathrm{mode}(G, S_i))\big), \qquad S_i \sim \mathrm{sampler}

    Args:
        encoder: The GNN: any module called as ``encoder(x, edge_index, ...)``, one of ours, of PyG's or your own.
        sampler: Draws the dropped sets.
        mode: What dropping does: ``"zero"`` (the paper's experiments), ``"zero-layers"``, ``"remove"`` (the paper's
            definition), ``"edges"``, ``"receive-only"``, or a :class:`~dropgnn.runs.modes.Mode`.
        aggregator: How a node's runs become one: ``"mean"``, ``"sum"``, ``"max"``, ``"transform-sum"``, or an
            :class:`~dropgnn.model.aggregate.Aggregator`.
        head: Turns embeddings into predictions; ``None`` returns the embeddings themselves.
        auxiliary: A head applied to each single run, for :meth:`Outcome.loss`.
        eval_sampler: Another sampler for evaluation, e.g. exhaustive runs after training on random ones.
        engine: ``"shared"`` computes each distinct embedding once, ``"batched"`` all copies at once, ``"reference"`` one
            after the other; ``"auto"`` shares wherever that is exact and says so once where it is not.
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
        engine: str = "auto",
        chunk: int | None = None,
        pooled: bool = False,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        check_wrappable(encoder)
        pooled = yes_or_no("pooled", pooled)
        check_parts(sampler, eval_sampler, mode, aggregator, head, auxiliary, generator, pooled=pooled)
        if engine != "auto" and engine not in ENGINES:
            raise InvalidArgument("engine", f"must be one of auto, {', '.join(ENGINES)}", got=engine)
        self.encoder = encoder
        self.sampler, self.eval_sampler = sampler, eval_sampler
        self.mode = MODES[mode]() if isinstance(mode, str) else mode
        self.aggregator = aggregator_by_name(aggregator, encoder) if isinstance(aggregator, str) else aggregator
        self.head, self.auxiliary = head, auxiliary
        self.engine = engine
        self.was_told = False
        self.depth: int | None = None  # layers of states that the encoder asked for when it ran last
        self.chunk = chunk
        self.pooled, self.generator = pooled, generator

        install()

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

        As strong as dropouts can make it if the GNN is as strong as 1-WL: for our GIN take ``eps=0.5``, or ``mode="remove"``.

        Args:
            encoder: The GNN.
            graphs: One graph or many, as for :meth:`RunPlan.of`.
            seed: For the runs.
            hops: The neighbourhood of interest; by default as many hops as the encoder has layers.
            arguments: Anything else :class:`DropGNN` takes.
        """
        if hops is None:
            hops = getattr(encoder, "num_layers", None)
            if not isinstance(hops, int):
                raise InvalidArgument(
                    "hops", f"must be given: {type(encoder).__name__} has no num_layers to tell", got=None
                )
        for name in ("sampler", "generator"):
            if name in arguments:
                raise InvalidArgument(
                    name, "is chosen by planned", got=arguments[name], hint="call DropGNN(...) instead"
                )
        mode = arguments.get("mode", "zero")
        kind = MODES[mode] if isinstance(mode, str) else mode
        if getattr(kind, "items", "nodes") != "nodes":
            raise InvalidArgument("mode", "must drop nodes: the plan is for them", got=mode, hint="call DropGNN(...)")
        seed = whole_number("seed", seed, least=0, most=2**63 - 1)
        plan = RunPlan.of(graphs, hops=hops)
        generator = torch.Generator().manual_seed(seed)
        return cls(encoder, Bernoulli(plan.p, plan.runs), generator=generator, **arguments)  # type: ignore[arg-type]

    def forward(
        self,
        x: Tensor | BaseData,
        edge_index: Tensor | None = None,
        edge_attr: Tensor | None = None,
        batch: Tensor | None = None,
        num_graphs: int | None = None,
        *,
        runs: Runs | None = None,
        plan: SharedPlan | None = None,
        generator: torch.Generator | None = None,
        return_outcome: bool = False,
        **more: Tensor | None,
    ) -> Tensor | Outcome:
        """Predict for nodes or graphs.

        Args:
            x, edge_index, edge_attr, batch, num_graphs: As for :meth:`dropgnn.Graph.of`; or PyG's ``Data`` or ``Batch`` alone.
                ``model(x, edge_index, batch)`` works as well.
            runs: Use these runs instead of drawing some.
            plan: Use what :meth:`plan` made for this very batch, runs included.
            generator: The source of randomness for this call, where runs are drawn.
            return_outcome: Return an :class:`Outcome` with single-run predictions and a loss, not the prediction alone.
            more: Whatever else the encoder's ``forward`` names, such as ``edge_weight`` or ``pos``: a row per node or edge,
                copied along with them. Dropping zeroes rows of x alone.
        """
        yes_or_no("return_outcome", return_outcome)
        graph = graph_of(self.encoder, x, edge_index, edge_attr, batch, num_graphs, more)
        check_inputs(self.encoder, graph)
        embed = Embedding(self)
        if generator is not None and (runs is not None or plan is not None):
            raise InvalidArgument("generator", "has no effect on runs that are drawn already", got=generator)
        if plan is not None:
            if runs is not None:
                raise InvalidArgument("runs", "must not be given with a plan, which has its own", got=repr(runs))
            check_plan(plan, graph, embed)
            if self.chunk is not None or self.engine not in ("auto", "shared"):
                raise Unsupported("a plan is for engine 'shared' without chunks; leave it out, or set chunk=None")
            runs = plan.runs
        elif runs is None:
            runs = self.draw(graph, generator=generator)
        else:
            of_kind("runs", runs, Runs, "drawn by model.draw(Graph.of(...)) or written down with Runs.of(...)")
            runs.check()
        runs = runs.to(graph.x.device)
        check_runs(runs, graph, self.mode, pooled=self.pooled)
        self._check_auxiliary(runs)

        outcome = run_model(self, graph, runs, plan, embed, singles=return_outcome)
        embed.remark(runs, stacklevel=4)
        return outcome if return_outcome else outcome.prediction

    @property
    def chunk(self) -> int | None:
        """How many copies of a graph are executed at a time; ``None`` for all."""
        return self._chunk

    @chunk.setter
    def chunk(self, copies: int | None) -> None:
        self._chunk = None if copies is None else whole_number("chunk", copies, least=1)

    @property
    def predicts_graphs(self) -> bool:
        """Whether there is one prediction per graph; otherwise there is one per node."""
        return self.pooled or takes_batch(self.head)

    def draw(self, graph: Graph, *, generator: torch.Generator | None = None) -> Runs:
        """Runs for a batch, from the sampler of the current mode (training or evaluation)."""
        generator, sampler = self.generator if generator is None else generator, self.current_sampler
        runs = sampler(graph, items=self.mode.items, generator=generator)
        if type(sampler) not in (Bernoulli, Stratified, Exhaustive):  # ours keep what Runs promise
            of_kind("sampler", runs, Runs, "a sampler must return Runs")
            runs.check()
        return runs

    @property
    def current_sampler(self) -> Sampler:
        """The sampler in use now: training and evaluation may have one each."""
        return self.sampler if self.training or self.eval_sampler is None else self.eval_sampler

    @property
    def can_plan(self) -> bool:
        """Whether :meth:`plan` works now: equal rows are shared, and all runs are executed at once."""
        return self.engine in ("auto", "shared") and self.chunk is None and Embedding(self).shares

    def plan(
        self,
        x: Tensor | BaseData,
        edge_index: Tensor | None = None,
        edge_attr: Tensor | None = None,
        batch: Tensor | None = None,
        num_graphs: int | None = None,
        *,
        generator: torch.Generator | None = None,
        **more: Tensor | None,
    ) -> SharedPlan:
        """Draw runs for a batch and plan their shared execution. Needs no weights, so it can be done ahead.

        Raises:
            Unsupported: Where equal rows cannot be shared.
        """
        graph = graph_of(self.encoder, x, edge_index, edge_attr, batch, num_graphs, more)
        return self.plan_runs(graph, self.draw(graph, generator=generator))

    def plan_runs(self, graph: Graph, runs: Runs) -> SharedPlan:
        """Plan the shared execution of runs that are there already."""
        of_kind("graph", graph, Graph, "made by Graph.of(x, edge_index, ...)")
        of_kind("runs", runs, Runs, "drawn by model.draw(graph) or written down with Runs.of(...)")
        if not graph.checked:
            graph.check()
        check_inputs(self.encoder, graph)
        runs.check()
        check_runs(runs, graph, self.mode, pooled=self.pooled)
        embed = Embedding(self)
        check_shareable(self.encoder, self.mode)
        embed.count_layers(graph, runs)
        return embed.plan(graph, runs)

    def sharing(
        self,
        x: Tensor | BaseData,
        edge_index: Tensor | None = None,
        edge_attr: Tensor | None = None,
        batch: Tensor | None = None,
        num_graphs: int | None = None,
        *,
        generator: torch.Generator | None = None,
        **more: Tensor | None,
    ) -> SharingReport:
        """How far equal rows are computed once on a batch, where that ends, and what it saves; inputs as for :meth:`forward`.

        >>> from torch_geometric.nn import GCN
        >>> model = DropGNN(GCN(1, 4, num_layers=2), Exhaustive(p=0.1, k=1))
        >>> print(model.eval().sharing(torch.ones(4, 1), torch.tensor([[0, 1, 2], [1, 2, 3]])))
        GCN: 20 rows per layer in all copies; distinct, layer by layer: 4, 8, 13
        shared to the end: 2.4 times fewer rows
        """
        graph = graph_of(self.encoder, x, edge_index, edge_attr, batch, num_graphs, more)
        check_inputs(self.encoder, graph)
        return report(Embedding(self), graph, self.draw(graph, generator=generator))

    def _check_auxiliary(self, runs: Runs) -> None:
        if not runs.equally_weighted and self.auxiliary is not None and takes_batch_statistics(self.auxiliary):
            raise Unsupported(
                "an auxiliary head with batch norm cannot train on copies of unequal weight; use one without, or random runs"
            )

    def extra_repr(self) -> str:
        evaluation = f", eval_sampler={self.eval_sampler!r}" if self.eval_sampler is not None else ""
        return f"sampler={self.sampler!r}{evaluation}, mode={self.mode!r}, engine={self.engine!r}"
