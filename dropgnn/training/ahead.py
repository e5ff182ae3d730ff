"""Planning the next batch while this one trains."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import torch
from torch_geometric.data import Data

from dropgnn.errors import InvalidArgument, of_kind
from dropgnn.model.dropgnn import DropGNN
from dropgnn.model.embedding import Embedding
from dropgnn.model.inputs import graph_of
from dropgnn.runs.samplers import Sampler
from dropgnn.training.loop import inputs

LOADED = "PyG's DataLoader yields batches, Batch.from_data_list([data]) makes one"

S = TypeVar("S")
T = TypeVar("T")


def ahead(
    model: DropGNN, batches: Iterable[Data], *, generator: torch.Generator | None = None
) -> Iterator[tuple[Data, dict[str, Any]]]:
    """Pairs of a batch and the arguments with which the model takes what was drawn and planned for it.

    A second thread draws and plans one batch ahead; the compiled loops of planning leave the interpreter free. Runs are
    drawn in the order of the batches, so they are the same as without it, as long as nothing else draws from
    ``generator`` meanwhile.

    >>> from dropgnn import GIN, Bernoulli
    >>> from dropgnn.data.synthetic import task
    >>> model = DropGNN(GIN(1, 4, 2), Bernoulli(0.1, 3))
    >>> data = task("lcc", 0).batch()
    >>> data.edge_attr = None
    >>> for batch, arguments in ahead(model, [data], generator=torch.Generator().manual_seed(0)):
    ...     print(list(arguments), model(*inputs(batch), **arguments).shape)
    ['plan'] torch.Size([60, 9])
    """
    return one_ahead(drawing(model, generator=generator), iterate("batches", batches))


def drawing(
    model: DropGNN, *, sampler: Sampler | None = None, generator: torch.Generator | None = None
) -> Callable[[Data], tuple[Data, dict[str, Any]]]:
    """A function from a batch to itself and the arguments with which the model takes what was drawn and, where it can be, planned
    for it. They are the same for every model with such layers: plans need no weights.

    Args:
        model: In the mode, training or evaluation, in which it will take them.
        sampler: Another one than the model's.
        generator: The source of randomness, else the model's.
    """
    of_kind("model", model, DropGNN)
    if sampler is not None:
        of_kind("sampler", sampler, Sampler, "e.g. Bernoulli(p=0.1, r=20)")
    if generator is not None:
        of_kind("generator", generator, torch.Generator, "e.g. torch.Generator().manual_seed(0)")
    # What is drawn must not depend on whether the model happens to be evaluated while a thread is at work.
    sampler = model.current_sampler if sampler is None else sampler
    embed = Embedding(model) if model.can_plan else None

    def draw(batch: Data) -> tuple[Data, dict[str, Any]]:
        if not hasattr(of_kind("batches", batch, Data, LOADED), "num_graphs"):
            raise InvalidArgument("batches", "must have batch and num_graphs", got=batch, hint=LOADED)
        graph = graph_of(model.encoder, *inputs(batch))
        runs = sampler(graph, items=model.mode.items, generator=model.generator if generator is None else generator)
        # Whether it may be shared is asked again when the plan is used: here it would only keep the interpreter busy.
        return batch, {"runs": runs} if embed is None else {"plan": embed.plan(graph, runs)}

    return draw


def one_ahead(work: Callable[[S], T], items: Iterable[S]) -> Iterator[T]:
    """What ``work`` makes of every item, in order; a second thread is one item ahead of whoever asks.

    >>> list(one_ahead(len, ["ab", "c"]))
    [2, 1]
    """
    return _one_ahead(work, iterate("items", items))


def iterate(argument: str, items: Iterable[T]) -> Iterator[T]:
    """An iterator over ``items``; an error that names ``argument`` where there is none."""
    try:
        if not isinstance(items, (str, bytes)):
            return iter(items)
    except TypeError:  # some of what has __iter__, such as a tensor of one number, has nothing to iterate over
        pass
    raise InvalidArgument(argument, "must be something to iterate over", got=type(items).__name__)


def _one_ahead(work: Callable[[S], T], items: Iterator[S]) -> Iterator[T]:
    with ThreadPoolExecutor(1) as pool:
        waiting: Future[T] | None = None
        for item in items:
            coming = pool.submit(work, item)
            if waiting is not None:
                yield waiting.result()
            waiting = coming
        if waiting is not None:
            yield waiting.result()
