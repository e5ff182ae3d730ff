"""Run by ``test_distributed.py``, alone or under torchrun: a few training steps in float64 of each kind; the weights are kept."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

import torch
from torch.nn.functional import cross_entropy
from torch_geometric.data import Batch

from dropgnn import GIN, DropGNN, Exhaustive
from dropgnn.data.qm9.dataset import QM9
from dropgnn.data.synthetic import task
from dropgnn.molecules.fitting import Fit
from dropgnn.molecules.models import MODELS, Settings
from dropgnn.nn.heads import Pooled
from dropgnn.nn.norm import WeightedBatchNorm
from dropgnn.tensor_files import save_tensors
from dropgnn.training.distributed import Ranks, joined
from dropgnn.training.loop import inputs

WHAT = ("1-gnn", "mpnn", "norms")


def train_gin(ranks: Ranks, *, synced: bool) -> DropGNN:
    """A GIN with batch norms, whose statistics are those of both halves together."""
    graphs = list(task("four_cycles", 0).graphs)
    for graph in graphs:
        graph.edge_attr = None
    torch.manual_seed(0)
    gin = GIN(1, 8, 3)
    model = DropGNN(gin, Exhaustive(0.1, k=1), head=Pooled(torch.nn.Linear(gin.out_channels, 2)))
    # Not Adam: biases in front of a norm have no gradient but rounding, which it would divide by its own size.
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    chosen = torch.arange(0, 50, 4)  # 13 graphs: 7 and 6
    batch = Batch.from_data_list([graphs[number] for number in ranks.share(chosen)])
    with ranks.together(model) as called:
        for module in model.modules():
            if isinstance(module, WeightedBatchNorm) and not synced:
                module.group = None
        for _ in range(4):
            optimizer.zero_grad()
            loss = cross_entropy(called(batch.x.double(), *inputs(batch)[1:]), batch.y) * ranks.scale(chosen)
            loss.backward()
            optimizer.step()
    return model


def begin_only(fit: Fit, *, steps: int) -> None:
    """Stop after so many steps, with a checkpoint."""

    class Enough(Exception):
        pass

    def stop(done: int) -> None:
        if done == steps:
            raise Enough

    with suppress(Enough):
        fit.run(stop)
    fit.save()


def train(what: str, folder: Path, out: Path, ranks: Ranks) -> None:
    """Train a model for molecules, or two GINs with batch norms, and save the weights as a file in ``out``."""
    file = out / what
    if what in MODELS:
        settings = Settings(what, "exact", ("gap", "r2"), limit=50, epochs=2, batch_size=7)
        molecules = ranks.one_per_machine_first(lambda: QM9.load(folder))
        checkpoint = None if ranks.world == 1 else Path(f"{file}.checkpoint")
        if checkpoint is not None:  # those together stop on the way, and go on
            begin_only(Fit(settings, molecules, ranks=ranks, checkpoint=checkpoint), steps=8)
        fit = Fit(settings, molecules, ranks=ranks, checkpoint=checkpoint)
        fit.run()
        tensors = fit.model.state_dict()
        facts = {"curve": fit.position.curve, "errors": fit.errors("test").tolist()}
    else:
        synced, apart = (train_gin(ranks, synced=synced).state_dict() for synced in (True, False))
        tensors = {f"synced.{name}": value for name, value in synced.items()}
        tensors |= {f"apart.{name}": value for name, value in apart.items()}
        facts = {}
    if ranks.first:
        save_tensors(file, tensors, facts)


def main(folder: Path, out: Path) -> None:
    """Train all there is."""
    dtype, threads = torch.get_default_dtype(), torch.get_num_threads()
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    try:
        with joined() as ranks:
            for what in WHAT:
                train(what, folder, out, ranks)
    finally:
        torch.set_default_dtype(dtype)
        torch.set_num_threads(threads)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
