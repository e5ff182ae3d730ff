"""Table 2: graph classification, GIN with and without dropouts and its rivals, on the same folds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from statistics import mean
from typing import NamedTuple

from dropgnn.data.folds import FOLDS
from dropgnn.experiments.graph_classification import KERNEL, PROTOCOLS, Trial, best_epoch
from dropgnn.experiments.paper import DATASETS, TABLE2, Printed
from dropgnn.experiments.summary import Cell, Found, Sheet, Summary

TITLE = "Table 2: graph classification"


class Contestant(NamedTuple):
    """A row of ours."""

    method: str
    drops: str
    paper: str | None = None
    """The row of the paper it stands beside."""


CONTESTANTS = {
    "WL subtree kernel": Contestant(KERNEL, "none", "WL subtree"),
    "GIN": Contestant("gin", "none", "GIN"),
    "DropGIN, random": Contestant("gin", "random", "DropGIN"),
    "DropGIN, exact": Contestant("gin", "exact"),
    "GIN + random feature": Contestant("gin-random", "none"),
    "DropGIN + random feature, random": Contestant("gin-random", "random"),
    "GCN": Contestant("gcn", "none"),
    "DropGCN, random": Contestant("gcn", "random"),
    "GraphSAGE": Contestant("sage", "none"),
    "DropSAGE, random": Contestant("sage", "random"),
}
MAIN = tuple(CONTESTANTS)[:4]
"""What a study has without its further rivals."""

NOTES = {
    "gin": "Accuracy in percent over 10 folds, at the epoch whose mean over the test folds is best: selected on test folds, as "
    "the paper reports it. The last rows are the paper's alone; PPGN is the best of its three versions",
    "nested": "Accuracy in percent over 10 folds, at the epoch (and the hyper-parameters) that are best on a tenth of each "
    "training part; the test fold is looked at once",
}


@dataclass(frozen=True)
class Extent:
    """How large the study is.

    Args:
        datasets: Names of the paper's datasets.
        protocol: ``"gin"`` or ``"nested"``.
        grid: Whether to try the paper's hyper-parameters instead of one choice.
        contestants: Names in ``CONTESTANTS``.
        folds, epochs: Fewer than 10 folds, or other than 350 epochs, for a look.
        preset: How p, r and the auxiliary loss are chosen.
    """

    datasets: tuple[str, ...] = DATASETS
    protocol: str = "gin"
    grid: bool = False
    contestants: tuple[str, ...] = MAIN
    folds: int = FOLDS
    epochs: int = 350
    preset: str = "paper"


def trials(extent: Extent) -> list[Trial]:
    """Every contestant on every dataset and fold, with one choice of hyper-parameters or with all of the grid."""
    found = []
    for dataset, name in product(extent.datasets, extent.contestants):
        contestant = CONTESTANTS[name]
        first = Trial(
            dataset, contestant.method, contestant.drops, 0, extent.protocol, hidden=_widths(dataset)[-1],
            epochs=extent.epochs, preset=extent.preset,
        )  # fmt: skip
        choices = _grid(first) if extent.grid and contestant.method != KERNEL else [first]
        found += [replace(choice, fold=fold) for choice in choices for fold in range(extent.folds)]
    return found


def _widths(dataset: str) -> tuple[int, ...]:
    return (64,) if dataset.startswith("IMDB") else (16, 32)


def _grid(trial: Trial) -> Iterator[Trial]:
    """The paper's: hidden units, final dropout and batch size."""
    for hidden, dropout, batch_size in product(_widths(trial.dataset), (0.0, 0.5), (32, 128)):
        yield replace(trial, hidden=hidden, dropout=dropout, batch_size=batch_size)


def summarize(found: Sequence[Found]) -> Summary:
    """A table for every protocol that has results."""
    return [
        _sheet(protocol, [one for one in found if one.trial.protocol == protocol])
        for protocol in PROTOCOLS
        if any(one.trial.protocol == protocol for one in found) or (protocol == PROTOCOLS[0] and not found)
    ]


def _sheet(protocol: str, found: Sequence[Found]) -> Sheet:
    rows = []
    for name, contestant in CONTESTANTS.items():
        mine = [one for one in found if (one.trial.method, one.trial.drops) == (contestant.method, contestant.drops)]
        if not mine and name not in MAIN:
            continue
        printed = TABLE2[contestant.paper] if contestant.paper and protocol == "gin" else None
        cells = []
        for number, dataset in enumerate(DATASETS):
            paper = None if printed is None else printed.accuracies[number]
            cells.append(_cell([one for one in mine if one.trial.dataset == dataset], protocol, paper))
        rows.append((f"{name}, {printed.complexity}" if printed else name, tuple(cells)))
    if protocol == "gin":
        for name, reported in TABLE2.items():
            if name not in {contestant.paper for contestant in CONTESTANTS.values()}:
                rows.append((f"{name}, {reported.complexity}", tuple(Cell((), value) for value in reported.accuracies)))
    return Sheet(f"{TITLE}, protocol {protocol}", DATASETS, tuple(rows), NOTES[protocol])


def _cell(found: Sequence[Found], protocol: str, paper: Printed | None) -> Cell:
    choices: dict[tuple, list[Found]] = {}
    for one in found:
        settings = {name: value for name, value in asdict(one.trial).items() if name != "fold"}
        choices.setdefault(tuple(settings.items()), []).append(one)
    values = _selected(list(choices.values())) if protocol == "gin" else _honest(list(choices.values()))
    return Cell(tuple(100 * value for value in values), paper, full=FOLDS, digits=1)


def _selected(choices: Sequence[Sequence[Found]]) -> list[float]:
    """For the best choice of hyper-parameters and epoch by the mean over test folds, the accuracy on each."""
    best: list[float] = []
    for folds in choices:
        curves = [one.result["curve"] for one in folds]
        epoch = best_epoch([mean(accuracies) for accuracies in zip(*curves, strict=True)])
        here = [curve[epoch] for curve in curves]
        if not best or (len(here), mean(here)) > (len(best), mean(best)):
            best = here
    return best


def _honest(choices: Sequence[Sequence[Found]]) -> list[float]:
    """For every fold the test accuracy of the choice that was best in validation."""
    by_fold: dict[int, list[Found]] = {}
    for folds in choices:
        for one in folds:
            by_fold.setdefault(one.trial.fold, []).append(one)
    best = (max(tried, key=lambda one: max(one.result["curve"])) for _, tried in sorted(by_fold.items()))
    return [one.result["test"] for one in best]
