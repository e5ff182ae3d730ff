"""What a forward pass does once its runs are there: execute them, aggregate over them, predict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from dropgnn.engine.embedded import Embedded
from dropgnn.engine.heads import predict, takes_batch
from dropgnn.engine.plan import SharedPlan
from dropgnn.engine.weighing import no_statistics
from dropgnn.errors import Unsupported
from dropgnn.graph import Graph
from dropgnn.model.aggregate import Collected, Mean
from dropgnn.model.embedding import Embedding
from dropgnn.model.outcome import Outcome
from dropgnn.nn.norm import takes_batch_statistics
from dropgnn.runs.runs import Runs

if TYPE_CHECKING:
    from dropgnn.model.dropgnn import DropGNN


class _Single(NamedTuple):
    """Predictions from single runs, whom each is about, and how much it counts."""

    prediction: Tensor | None = None
    owner: Tensor | None = None
    weight: Tensor | None = None


def run_model(
    model: DropGNN, graph: Graph, runs: Runs, plan: SharedPlan | None, embed: Embedding, *, singles: bool
) -> Outcome:
    """Everything a DropGNN finds out about a batch; predictions from single runs only where asked for ``singles``."""
    auxiliary = model.auxiliary if singles else None
    if _needs_chunks(model, runs):
        collected, single = _merged(model, _chunks(model, graph, runs, embed, auxiliary))
    else:
        embedded = embed(graph, runs, plan)
        outcome = _predict_means(model, graph, embedded, auxiliary)
        if outcome is not None:
            return outcome
        collected, single = _part(model, embedded, auxiliary)
    embedding = _finish(model, graph, runs, collected)
    return Outcome(_predict(model, graph, embedding), lambda: embedding, *single, runs)


def _predict_means(
    model: DropGNN, graph: Graph, embedded: Embedded, auxiliary: torch.nn.Module | None
) -> Outcome | None:
    """The outcome without the mean embeddings, where predictions come cheaper without them; else ``None``."""
    runs = embedded.runs
    if type(model.aggregator) is not Mean or model.head is None or not _is_for_graphs(model, model.head):
        return None
    both = embedded.predict_means(model.head, auxiliary)
    if both is None:
        return None
    single = _Single() if auxiliary is None else _Single(both[1], runs.graph, runs.weight)
    return Outcome(both[0], lambda: _finish(model, graph, runs, model.aggregator.collect(embedded)), *single, runs)


def _needs_chunks(model: DropGNN, runs: Runs) -> bool:
    return model.chunk is not None and int(runs.copies_per_graph.max() if runs.num_graphs else 0) > model.chunk


def _chunks(
    model: DropGNN, graph: Graph, runs: Runs, embed: Embedding, auxiliary: torch.nn.Module | None
) -> Iterator[tuple[Collected, _Single]]:
    """Execute the runs, chunk by chunk, each forgotten once it has been used."""
    for module in (model.encoder, model.aggregator, model.auxiliary):
        if module is not None and takes_batch_statistics(module):
            raise _in_chunks(model, type(module).__name__)

    def run(chunk: Runs) -> tuple[Collected, _Single]:
        with no_statistics(_in_chunks(model, "torch.nn.functional.batch_norm")):
            return _part(model, embed(graph, chunk), auxiliary)

    assert model.chunk is not None
    for chunk in runs.split(model.chunk):
        yield checkpoint(run, chunk, use_reentrant=False) if torch.is_grad_enabled() else run(chunk)


def _in_chunks(model: DropGNN, norm: str) -> Unsupported:
    return Unsupported(
        f"chunk={model.chunk} would take the batch statistics of {norm} chunk by chunk while training; train with chunk=None, "
        "or call .eval() on its batch norms"
    )


def _merged(model: DropGNN, parts: Iterator[tuple[Collected, _Single]]) -> tuple[Collected, _Single]:
    collected, singles = None, []
    for part, single in parts:
        collected = part if collected is None else model.aggregator.merge(collected, part)
        singles.append(single)
    assert collected is not None  # there is always a part, be it an empty one
    if singles[0].prediction is None:
        return collected, _Single()
    return collected, _Single(*(torch.cat(column) for column in zip(*singles, strict=True)))


def _part(model: DropGNN, embedded: Embedded, auxiliary: torch.nn.Module | None) -> tuple[Collected, _Single]:
    """What the runs contribute that were embedded."""
    collected, runs = model.aggregator.collect(embedded), embedded.runs
    if auxiliary is None:
        return collected, _Single()
    if _is_for_graphs(model, auxiliary):
        return collected, _Single(embedded.predict_copies(auxiliary), runs.graph, runs.weight)
    return collected, _Single(*embedded.predict_rows(auxiliary))


def _finish(model: DropGNN, graph: Graph, runs: Runs, collected: Collected) -> Tensor:
    owners = torch.ones_like(graph.nodes_per_graph) if model.pooled else graph.nodes_per_graph
    return model.aggregator.finish(collected, runs.copies_averaged(owners))


def _predict(model: DropGNN, graph: Graph, embedding: Tensor) -> Tensor:
    if model.head is None:
        return embedding
    pools = _is_for_graphs(model, model.head)
    return predict(model.head, embedding, *((graph.batch, graph.num_graphs) if pools else ()))


def _is_for_graphs(model: DropGNN, head: torch.nn.Module) -> bool:
    """Whether a head pools rows of nodes."""
    return takes_batch(head) and not model.pooled
