"""DropGIN at its best: Table 1's dropouts with a learning rate that decays, more of them, and exact tests. And whether the
rivals are better with that learning rate, too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dropgnn.data.synthetic import task as make
from dropgnn.experiments.beyond_wl import METHODS, TASKS, Trial
from dropgnn.experiments.paper import TABLE1
from dropgnn.experiments.studies.scale import FULL, Scale
from dropgnn.experiments.studies.table1 import accuracies
from dropgnn.experiments.summary import Cell, Found, Sheet, Summary

TITLE = "DropGIN at its best"
NOTE = (
    "Decay: the learning rate falls to zero along a cosine, so that batch norm's running statistics catch up with the weights; "
    "exact: tested with all dropouts of up to k nodes, weighted by their probabilities, instead of 50 random runs; "
    "more: p = 3/(1 + m) instead of Table 1's. Compared with the paper's DropGIN"
)
RIVALS = {method: title for method, title in METHODS.items() if method != "dropout"}
RIVALS_NOTE = "Everything as in Table 1, but for the learning rate, which falls to zero along a cosine"


def trials(scale: Scale) -> list[Trial]:
    """With a decaying learning rate, once with the preset's p and once with ours; then the rivals."""
    decaying = replace(scale, schedule="cosine")
    dropping = [trial for task in TASKS for p in (None, _p(task)) for trial in decaying.trials(task, p=p)]
    return dropping + [trial for task in TASKS for method in RIVALS for trial in decaying.trials(task, method)]


def _p(task: str) -> float:
    """About three dropped nodes in a run, where the paper's text has one: more to see, and more to learn from."""
    return 3.0 / (1.0 + make(task, 0).m)


def summarize(found: Sequence[Found]) -> Summary:
    """Test accuracy with random and with exact runs, and accuracies of the rivals."""
    dropping = [one for one in found if one.trial.method == "dropout"]

    def cell(task: str, p: float | None, k: int = 0) -> Cell:
        """With k, what the exact test says."""
        chosen = (one.result for one in dropping if (one.trial.task, one.trial.p) == (task, p))
        values = (result["exact"][f"exhaustive-{k}"] if k else result["test"] for result in chosen)
        return Cell(tuple(values), TABLE1[task]["dropout"]["test"], full=FULL.seeds)

    columns = ("decay", "decay, exact k <= 2", "decay, more", "decay, more, exact k <= 3")
    rows = tuple(
        (title, (cell(task, None), cell(task, None, k=2), cell(task, _p(task)), cell(task, _p(task), k=3)))
        for task, title in TASKS.items()
    )
    rivals = [
        accuracies(found, part, "The rivals with the same learning rate", RIVALS, RIVALS_NOTE)
        for part in ("test", "train")
    ]
    return [Sheet(f"{TITLE}, test accuracy", columns, rows, NOTE), *rivals]
