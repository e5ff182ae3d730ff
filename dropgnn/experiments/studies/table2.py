"""Table 2: graph classification, GIN with and without dropouts and its rivals, on the same folds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import chain, product
from statistics import mean
from typing import NamedTuple

from dropgnn.data.datasets import PUBLISHED
from dropgnn.data.folds import FOLDS
from dropgnn.experiments.graph_classification import KERNEL, Trial, best_epoch
from dropgnn.experiments.paper import BEST, DATASETS, TABLE2
from dropgnn.experiments.summary import Cell, Found, Sheet, Summary

TITLE = "Table 2: graph classification"

LAST = 50
"""Epochs, between which the learning rate no longer changes."""

LARGEST_FOLD = 500
"""Graphs; the paper's have at most 150."""


class Contestant(NamedTuple):
    """A row of ours."""

    method: str
    drops: str
    paper: str | None = None
    """The row of the paper it stands beside."""
    curve: str = "curve"
    """Where its accuracies are in a result."""


CONTESTANTS = {
    "WL subtree kernel": Contestant(KERNEL, "none", "WL subtree"),
    "GIN": Contestant("gin", "none", "GIN"),
    "DropGIN, random": Contestant("gin", "random", "DropGIN"),
    "DropGIN, random, four times the runs in testing": Contestant("gin", "random", curve="more_runs"),
    "DropGIN, exact": Contestant("gin", "exact"),
    "GIN + random feature": Contestant("gin-random", "none"),
    "DropGIN + random feature, random": Contestant("gin-random", "random"),
    "GCN": Contestant("gcn", "none"),
    "DropGCN, random": Contestant("gcn", "random"),
    "GraphSAGE": Contestant("sage", "none"),
    "DropSAGE, random": Contestant("sage", "random"),
}
MAIN = tuple(CONTESTANTS)[:5]
"""What a study has without its further rivals."""


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
        pool: Over the nodes of a graph.
    """

    datasets: tuple[str, ...] = DATASETS
    protocol: str = "gin"
    grid: bool = False
    contestants: tuple[str, ...] = MAIN
    folds: int = FOLDS
    epochs: int = 350
    preset: str = "paper"
    pool: str = "sum"


def trials(extent: Extent) -> list[Trial]:
    """Every contestant on every dataset and fold, with one choice of hyper-parameters or with all of the grid."""
    found = []
    for dataset, name in product(extent.datasets, extent.contestants):
        contestant = CONTESTANTS[name]
        first = Trial(
            dataset, contestant.method, contestant.drops, 0, extent.protocol, hidden=_widths(dataset)[-1],
            epochs=extent.epochs, preset=extent.preset, pool=extent.pool,
        )  # fmt: skip
        choices = _grid(first) if extent.grid and contestant.method != KERNEL else [first]
        found += [replace(choice, fold=fold) for choice in choices for fold in range(extent.folds)]
    return list(dict.fromkeys(found))


def _widths(dataset: str) -> tuple[int, ...]:
    return (64,) if dataset.startswith("IMDB") else (16, 32)


def _grid(trial: Trial) -> Iterator[Trial]:
    """The paper's: hidden units, final dropout and batch size."""
    for hidden, dropout, batch_size in product(_widths(trial.dataset), (0.0, 0.5), (32, 128)):
        yield replace(trial, hidden=hidden, dropout=dropout, batch_size=batch_size)


@cache
def _exact(accuracy: float) -> Fraction:
    """An accuracy is a number of graphs out of few, which files round; and rounding must not decide between equal means."""
    return Fraction(accuracy).limit_denominator(LARGEST_FOLD)


def _means(curves: Iterable[Sequence[float]]) -> list[Fraction]:
    """Over several folds, epoch by epoch."""
    return [sum(map(_exact, accuracies), Fraction()) / len(accuracies) for accuracies in zip(*curves, strict=True)]


def _selected(choices: Sequence[Sequence[Found]], curve: str) -> list[float]:
    """For the best choice of hyper-parameters and epoch by the mean over test folds, the accuracy on each."""
    tried = []
    for folds in choices:
        curves = [one.result[curve] for one in folds]
        epoch = best_epoch(_means(curves))
        tried.append([values[epoch] for values in curves])
    return max(tried, key=lambda values: (len(values), sum(map(_exact, values))), default=[])


def _chosen_elsewhere(choices: Sequence[Sequence[Found]], curve: str) -> list[float]:
    """For every fold the accuracy at the choice and epoch that are best on the others."""
    by_fold = [{one.trial.fold: one.result[curve] for one in folds} for folds in choices]
    values = []
    for fold in sorted(set[int]().union(*by_fold)):
        known = [curves for curves in by_fold if fold in curves and len(curves) > 1]
        tried = [(_means(curves[other] for other in curves if other != fold), curves[fold]) for curves in known]
        if tried:
            elsewhere, here = max(tried, key=lambda pair: max(pair[0]))
            values.append(here[best_epoch(elsewhere)])
    return values


def _unselected(choices: Sequence[Sequence[Found]], curve: str) -> list[float]:
    """For every fold the mean over the last epochs, of all choices."""
    return [
        mean(chain.from_iterable(one.result[curve][-LAST:] for one in tried)) for tried in _by_fold(choices).values()
    ]


def _validated(choices: Sequence[Sequence[Found]], curve: str) -> list[float]:
    """For every fold the test accuracy of the choice that was best in validation."""
    best = (max(tried, key=lambda one: max(one.result[curve])) for tried in _by_fold(choices).values())
    return [one.result["test"] for one in best]


def _by_fold(choices: Iterable[Sequence[Found]]) -> dict[int, list[Found]]:
    """Everything that was tried on each fold, in their order."""
    by_fold: dict[int, list[Found]] = {}
    for one in sorted(chain.from_iterable(choices), key=lambda one: one.trial.fold):
        by_fold.setdefault(one.trial.fold, []).append(one)
    return by_fold


class Reading(NamedTuple):
    """How a table is read off the trainings of a protocol, choice by choice and fold by fold."""

    protocol: str
    title: str
    note: str
    accuracies: Callable[[Sequence[Sequence[Found]], str], list[float]]

    def leaves_out(self, contestant: Contestant) -> bool:
        """Tests with more runs are not validated, and a kernel has no epochs: whatever is read of it has been selected."""
        return (self is VALIDATED and contestant.curve != "curve") or (
            self is UNSELECTED and contestant.method == KERNEL
        )


SELECTED, ELSEWHERE, UNSELECTED, VALIDATED = READINGS = (
    Reading(
        "gin",
        "protocol gin",
        "Accuracy in percent over 10 folds, at the epoch (and the hyper-parameters, where several were tried) whose mean over "
        "the test folds is best: selected on test folds, as the paper reports it. Behind ± the deviation over folds; the "
        "standard error of a mean over ten is a third of it. The last rows are the paper's alone. "
        f"{BEST} the best of its complexity class, in bold in the paper; {TABLE2['PPGN*'].remark}",
        _selected,
    ),
    Reading(
        "gin",
        "protocol gin, epochs chosen elsewhere",
        "The same trainings. For each fold the epoch (and the hyper-parameters) that are best on the other nine, whose models "
        "were trained on it: less flattered than the table above, more than protocol nested",
        _chosen_elsewhere,
    ),
    Reading(
        "gin",
        "protocol gin, nothing selected",
        f"The same trainings, and the mean of the last {LAST} epochs (of all, where there are fewer, and of all "
        "hyper-parameters): what one gets without looking, and the least noisy of the three",
        _unselected,
    ),
    Reading(
        "nested",
        "protocol nested",
        "Accuracy in percent over 10 folds, at the epoch (and the hyper-parameters) that are best on a tenth of each "
        "training part; the test fold is looked at once",
        _validated,
    ),
)


def summarize(found: Sequence[Found]) -> Summary:
    """A table for every reading of a protocol that has results."""
    run = {one.trial.protocol for one in found} or {SELECTED.protocol}
    sheets = [
        _sheet(reading, [one for one in found if one.trial.protocol == reading.protocol])
        for reading in READINGS
        if reading.protocol in run
    ]
    return [
        sheets[0],
        *(sheet for sheet in sheets[1:] if any(cell.values for _, cells in sheet.rows for cell in cells)),
    ]


def _sheet(reading: Reading, found: Sequence[Found]) -> Sheet:
    rows = []
    for name, contestant in CONTESTANTS.items():
        mine = [one for one in found if (one.trial.method, one.trial.drops) == (contestant.method, contestant.drops)]
        if not mine and name not in MAIN:
            continue
        printed = TABLE2[contestant.paper] if contestant.paper and reading is SELECTED else None
        cells = []
        for number, dataset in enumerate(DATASETS):
            here = [] if reading.leaves_out(contestant) else [one for one in mine if one.trial.dataset == dataset]
            values = reading.accuracies(_choices(here), contestant.curve)
            paper = None if printed is None else printed.accuracies[number]
            cells.append(Cell(tuple(100 * value for value in values), paper, full=FOLDS, digits=1))
        rows.append((f"{name}, {printed.complexity}" if printed else name, tuple(cells)))
    if reading is SELECTED:
        for name, reported in TABLE2.items():
            if name not in {contestant.paper for contestant in CONTESTANTS.values()}:
                rows.append((f"{name}, {reported.complexity}", tuple(Cell((), value) for value in reported.accuracies)))
    return Sheet(f"{TITLE}, {reading.title}", DATASETS, tuple(rows), f"{reading.note}{_own_folds(found)}")


def _own_folds(found: Sequence[Found]) -> str:
    """Datasets whose folds are not those of the GIN paper."""
    own = {
        (one.trial.dataset, note) for one in found for note in one.result.get("data", ()) if note.startswith("folds: ")
    }
    return "".join(f". {dataset} has {note}" for dataset, note in sorted(own) if note != PUBLISHED)


def _choices(found: Iterable[Found]) -> list[list[Found]]:
    """The folds of every choice of hyper-parameters."""
    choices: dict[Trial, list[Found]] = {}
    for one in found:
        choices.setdefault(replace(one.trial, fold=0), []).append(one)
    return list(choices.values())
