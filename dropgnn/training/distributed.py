"""Data-parallel training under ``torchrun``: every rank takes its share of each batch, and all take the same step.

The mean over a batch is the mean over the ranks of what each finds for its share, where a rank's loss counts by how much of the
batch it has; see :meth:`Ranks.scale`. Our batch norms take their statistics over all ranks.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
import torch.distributed
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from dropgnn.errors import DropGNNError, Unsupported
from dropgnn.nn.norm import WeightedBatchNorm, find_batch_norm, use_weighted_batch_norm

T = TypeVar("T")

CPU = torch.device("cpu")
LOOK_EVERY = 0.5
"""Seconds."""
LET_GO = 0.2
"""Seconds in which gloo's threads let go of the last tensors. They need Python's lock for it, which before torch 2.8 the end of
their group holds while it waits for them (pytorch/pytorch#154976): without a pause a rank now and then never ended."""


@dataclass(frozen=True)
class Ranks:
    """Who we are among the processes that train together; alone by default.

    Args:
        rank, world: Our number, and how many we are.
        local: Our number among those on this machine.
        device: Where we compute.
    """

    rank: int = 0
    world: int = 1
    local: int = 0
    device: torch.device = CPU

    @property
    def first(self) -> bool:
        """Whether it falls to us to print and to write files."""
        return self.rank == 0

    def share(self, chosen: Tensor) -> Tensor:
        """Our part of a batch.

        >>> [Ranks(rank, 2).share(torch.arange(5)).tolist() for rank in range(2)]
        [[0, 2, 4], [1, 3]]
        """
        return chosen[self.rank :: self.world]

    def scale(self, chosen: Tensor) -> float:
        """What our loss is multiplied with so that the mean over the ranks is that over the batch.

        >>> [Ranks(rank, 2).scale(torch.arange(5)) for rank in range(2)]
        [1.2, 0.8]
        """
        return self.share(chosen).numel() * self.world / chosen.numel()

    def total(self, value: Tensor) -> Tensor:
        """The sum over all ranks."""
        if self.world > 1:
            value = value.clone()
            torch.distributed.all_reduce(value)
        return value

    def from_first(self, work: Callable[[], T]) -> T:
        """What ``work`` returns on the first rank; the others need not see its files."""
        if self.world == 1:
            return work()
        found, problem = _tried(work) if self.first else (None, None)
        held: list[Any] = [found, _told(problem)]
        torch.distributed.broadcast_object_list(held)
        _say(problem, held[1:])
        return held[0]

    def one_per_machine_first(self, work: Callable[[], T]) -> T:
        """What ``work`` returns, which one rank of each machine does before the others begin: a cache, say, is made once."""
        if self.world == 1:
            return work()
        found, problem = _tried(work) if self.local == 0 else (None, None)
        said: list[Any] = [None] * self.world
        torch.distributed.all_gather_object(said, _told(problem))
        _say(problem, said)
        return found if self.local == 0 else work()  # type: ignore[return-value]

    @contextmanager
    def together(self, model: torch.nn.Module) -> Iterator[torch.nn.Module]:
        """The model as it is to be called while training: gradients are averaged, and norms look at all ranks."""
        if self.world == 1:
            yield model
            return
        use_weighted_batch_norm(model)
        blind = find_batch_norm(model.train(), unweighted=True)
        if blind is not None:
            raise Unsupported(
                f"batch norm '{blind}' would look at one rank's share alone; use WeightedBatchNorm, or one rank"
            )
        norms = [module for module in model.modules() if isinstance(module, WeightedBatchNorm)]
        for norm in norms:
            norm.group = torch.distributed.group.WORLD
        try:
            yield DistributedDataParallel(model)
        finally:
            for norm in norms:
                norm.group = None


ALONE = Ranks()


def _tried(work: Callable[[], T]) -> tuple[T | None, Exception | None]:
    try:
        return work(), None
    except Exception as problem:
        return None, problem


def _told(problem: Exception | None) -> str | None:
    """What the other ranks are told; an error without words is one, too."""
    return None if problem is None else str(problem) or repr(problem)


def _say(problem: Exception | None, said: Sequence[str | None]) -> None:
    """What went wrong on one rank goes wrong on all: the others would wait for it for ever."""
    if problem is not None:
        raise problem
    for message in filter(None, said):
        raise DropGNNError(message)


def _end_with(parent: int) -> None:
    """Ranks that outlive a torchrun that was killed would go on writing where its next one begins."""
    while os.getppid() == parent:
        time.sleep(LOOK_EVERY)
    os._exit(1)


@contextmanager
def joined() -> Iterator[Ranks]:
    """The ranks that ``torchrun`` has started, or we alone where it has not; each on a GPU of its own where there are any."""
    local = int(os.environ.get("LOCAL_RANK", "0"))
    gpu = torch.cuda.is_available()
    device = torch.device("cuda", local) if gpu else CPU
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield Ranks(device=device)
        return
    if "TORCHELASTIC_RUN_ID" in os.environ:
        threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    if gpu:
        torch.cuda.set_device(device)
    torch.distributed.init_process_group("cpu:gloo,cuda:nccl" if gpu else "gloo")
    try:
        yield Ranks(torch.distributed.get_rank(), torch.distributed.get_world_size(), local, device)
    finally:
        time.sleep(LET_GO)
        torch.distributed.destroy_process_group()
