"""Why a DropGNN may be right while it trains and wrong when it is tested, and what helps.

The same GIN with dropouts on the task Triangles, with the paper's constant learning rate and with one that falls to zero: how
many of the training nodes it gets right with batch norm's statistics of the moment (training mode), and with the running ones
(evaluation mode), which lag behind weights that still move. Run it with ``python examples/falling_learning_rate.py [SEEDS]``; on
some seeds both learning rates do well, on others the constant one does not.
"""

from __future__ import annotations

import sys

import torch
from torch import Tensor

from dropgnn.data.synthetic import task
from dropgnn.experiments.beyond_wl import Trial, build
from dropgnn.training.loop import fit, inputs
from dropgnn.training.seeds import stream


def accuracies(seed: int, schedule: str, *, epochs: int = 1_000) -> tuple[float, float]:
    """On the training nodes, in training mode and in evaluation mode."""
    triangles = task("triangles", seed)
    batch = triangles.batch()
    batch.edge_attr = None  # no ports
    model = build(Trial("triangles", "dropout", seed, epochs), triangles)
    fit(model, batch, epochs=epochs, generator=stream(seed, "training"), schedule=schedule)

    @torch.no_grad()
    def right() -> float:
        prediction = model(*inputs(batch), generator=stream(seed, "testing"))
        assert isinstance(prediction, Tensor)
        return float((prediction.argmax(dim=1) == batch.y).double().mean())

    in_evaluation = (model.eval(), right())[1]
    return (model.train(), right())[1], in_evaluation


def main(seeds: int) -> None:
    lowest = dict.fromkeys(("constant", "cosine"), 1.0)
    for seed in range(seeds):
        said = []
        for schedule in lowest:
            training, evaluation = accuracies(seed, schedule)
            lowest[schedule] = min(lowest[schedule], evaluation)
            said.append(f"{schedule} {training:.2f} in training mode, {evaluation:.2f} in evaluation mode")
        print(f"seed {seed}:", "; ".join(said), flush=True)
    print("lowest in evaluation mode:", ", ".join(f"{schedule} {value:.2f}" for schedule, value in lowest.items()))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
