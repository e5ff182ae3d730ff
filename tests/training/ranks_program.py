"""Run by ``test_distributed.py``, alone or under torchrun: a few training steps in float64; the weights are kept."""

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
from dropgnn.engine.norm import WeightedBatchNorm
from dropgnn.molecules.fitting import Fit
from dropgnn.molecules.models import MODELS, Settings
from dropgnn.nn.heads import Pooled
from dropgnn.tensor_files import save_tensors
from dropgnn.training.distributed import Ranks, joined
from dropgnn.training.loop import inputs


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


def main(what: str, folder: str, out: str) -> None:
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    with joined() as ranks:
        if what in MODELS:
            settings = Settings(what, "exact", ("gap", "r2"), limit=50, epochs=2, batch_size=7)
            molecules = ranks.one_per_machine_first(lambda: QM9.load(Path(folder)))
            checkpoint = None if ranks.world == 1 else Path(f"{out}.checkpoint")
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
            save_tensors(Path(out), tensors, facts)


if __name__ == "__main__":
    main(*sys.argv[1:])
