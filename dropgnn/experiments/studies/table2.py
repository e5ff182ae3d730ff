"""Table 2: graph classification, GIN with and without dropouts and its rivals, on the same folds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from statistics import mean
from typing import NamedTuple

from dropgnn.data.datasets import PUBLISHED
from dropgnn.data.folds import FOLDS
from dropgnn.data.recipes import PAPER
from dropgnn.experiments.graph_classification import KERNEL, Trial
from dropgnn.experiments.paper import BEST, TABLE2
from dropgnn.experiments.studies.readings import LAST, READINGS, SELECTED, UNSELECTED, VALIDATED, ByFold, Reading
from dropgnn.experiments.summary import Cell, Curve, Figure, Found, Sheet, Summary
from dropgnn.training.presets import WITHOUT_DROPOUTS

TITLE = "Table 2: graph classification"

DATASETS = tuple(PAPER)

BARE = "none"
"""What a GNN drops without dropouts."""

USUAL = "curve"
"""Where a result has the accuracies of tests with as many runs as in training."""


class Contestant(NamedTuple):
    """A row of ours."""

    method: str
    drops: str
    paper: str | None = None
    """The row of the paper it stands beside."""
    curve: str = USUAL
    """Where its accuracies are in a result."""

    @property
    def depends_on_preset(self) -> bool:
        """Whether a preset decides anything: p and the loss of dropouts, or how a random feature is drawn."""
        return self.drops != BARE or self.method == "gin-random"


CONTESTANTS = {
    "WL subtree kernel": Contestant(KERNEL, BARE, "WL subtree"),
    "GIN": Contestant("gin", BARE, "GIN"),
    "DropGIN, random": Contestant("gin", "random", "DropGIN"),
    "DropGIN, random, four times the runs in testing": Contestant("gin", "random", curve="more_runs"),
    "DropGIN, exact": Contestant("gin", "exact"),
    "GIN + random feature": Contestant("gin-random", BARE),
    "DropGIN + random feature, random": Contestant("gin-random", "random"),
    "GCN": Contestant("gcn", BARE),
    "DropGCN, random": Contestant("gcn", "random"),
    "GraphSAGE": Contestant("sage", BARE),
    "DropSAGE, random": Contestant("sage", "random"),
}
MAIN = tuple(CONTESTANTS)[:5]
"""What a study has without its further rivals."""

BATCH_SIZES = (32, 128)
"""The paper's."""

DRAWN = ("GIN", "DropGIN, random", "DropGIN, exact")
"""Whose training is drawn."""

COMPARED = (SELECTED, UNSELECTED, VALIDATED)
"""Readings by which GNNs with and without dropouts are held against each other: the paper's, and those that owe least to luck."""


@dataclass(frozen=True)
class Extent:
    """How large the study is.

    Args:
        datasets: Names in ``DATASETS``.
        protocol: ``"gin"`` or ``"nested"``.
        grid: Whether to try the paper's hyper-parameters instead of one choice.
        batch_sizes: Graphs per step; without a grid only the first counts.
        contestants: Names in ``CONTESTANTS``.
        folds, epochs: Fewer than 10 folds, or other than 350 epochs, for a look.
        preset: How p, r and the auxiliary loss are chosen.
        pool: Over the nodes of a graph.
    """

    datasets: tuple[str, ...] = DATASETS
    protocol: str = "gin"
    grid: bool = False
    batch_sizes: tuple[int, ...] = BATCH_SIZES
    contestants: tuple[str, ...] = MAIN
    folds: int = FOLDS
    epochs: int = 350
    preset: str = "published"
    pool: str = "sum"


def trials(extent: Extent) -> list[Trial]:
    """Every contestant on every dataset and fold, with one choice of hyper-parameters or with all of the grid."""
    found = []
    for dataset, name in product(extent.datasets, extent.contestants):
        contestant = CONTESTANTS[name]
        first = Trial(
            dataset, contestant.method, contestant.drops, 0, extent.protocol, hidden=_widths(dataset)[-1],
            batch_size=extent.batch_sizes[0], epochs=extent.epochs, pool=extent.pool,
            preset=extent.preset if contestant.depends_on_preset else WITHOUT_DROPOUTS,
        )  # fmt: skip
        choices = _grid(first, extent.batch_sizes) if extent.grid and contestant.method != KERNEL else [first]
        found += [replace(choice, fold=fold) for choice in choices for fold in range(extent.folds)]
    return list(dict.fromkeys(found))


def _widths(dataset: str) -> tuple[int, ...]:
    return (64,) if dataset.startswith("IMDB") else (16, 32)


def _grid(trial: Trial, batch_sizes: tuple[int, ...]) -> Iterator[Trial]:
    """The paper's: hidden units, final dropout and batch size."""
    for hidden, dropout, batch_size in product(_widths(trial.dataset), (0.0, 0.5), batch_sizes):
        yield replace(trial, hidden=hidden, dropout=dropout, batch_size=batch_size)


def summarize(found: Sequence[Found]) -> Summary:
    """A table for every reading of a protocol that has results, one of what dropouts change, and what every choice of a grid is
    worth."""
    run = {one.trial.protocol for one in found} or {SELECTED.protocol}
    first, *others = [_sheet(reading, found) for reading in READINGS if reading.protocol in run]
    sheets = [first, *(sheet for sheet in (*others, _changes(found), *_choices(found)) if sheet.has_values)]
    course = _course(found)
    return [*sheets, *([course] if course.curves else [])]


def _sheet(reading: Reading, found: Sequence[Found]) -> Sheet:
    rows, datasets = [], _datasets(found)
    for name, contestant in CONTESTANTS.items():
        mine = _trained(found, reading, contestant)
        if not mine and (found or name not in MAIN):
            continue
        printed = TABLE2[contestant.paper] if contestant.paper and reading is SELECTED else None
        cells = []
        for dataset in datasets:
            accuracies = _accuracies(reading, contestant, dataset, mine).values()
            paper = None if printed is None else printed.on(dataset)
            cells.append(Cell(tuple(100 * value for value in accuracies), paper, full=FOLDS, digits=1))
        rows.append((f"{name}, {printed.complexity}" if printed else name, tuple(cells)))
    note = reading.note
    if reading is SELECTED:
        note += (
            f". The last rows are the paper's alone. {BEST} the best of its complexity class, in bold in the paper; "
        )
        note += TABLE2["PPGN*"].remark
        ours = {contestant.paper for contestant in CONTESTANTS.values()}
        for name, reported in TABLE2.items():
            values = [reported.on(dataset) for dataset in datasets]
            if name not in ours and any(value is not None for value in values):
                rows.append((f"{name}, {reported.complexity}", tuple(Cell((), value) for value in values)))
    return Sheet(f"{TITLE}, {reading.title}", datasets, tuple(rows), f"{note}{_own_folds(found, reading)}")


def _changes(found: Sequence[Found]) -> Sheet:
    """With dropouts minus without, fold by fold."""
    rows, datasets = [], _datasets(found)
    for reading, (name, contestant) in product(COMPARED, CONTESTANTS.items()):
        if contestant.drops == BARE or contestant.curve != USUAL:
            continue  # tests with more runs are of the same trainings
        plain = Contestant(contestant.method, BARE)
        dropped, bare = _trained_alike(*(_trained(found, reading, one) for one in (contestant, plain)))
        cells = []
        for dataset in datasets:
            after = _accuracies(reading, contestant, dataset, dropped)
            before = _accuracies(reading, plain, dataset, bare)
            changes = tuple(100 * (after[fold] - before[fold]) for fold in sorted(after.keys() & before.keys()))
            cells.append(Cell(changes, full=FOLDS, digits=1, is_change=True))
        if any(cell.values for cell in cells):
            rows.append((f"{name}; {reading.title}", tuple(cells)))
    note = (
        "Accuracy with dropouts minus that of the same GNN without, in points of percent, where both were trained, and behind ± "
        "the standard error of its mean over folds; folds share most of their training graphs, so that the true one is larger"
    )
    return Sheet(f"{TITLE}, what dropouts change", datasets, tuple(rows), note)


def _trained_alike(dropped: Sequence[Found], bare: Sequence[Found]) -> tuple[list[Found], list[Found]]:
    """With and without dropouts, the trainings that are there for both."""
    both = {_undropped(one.trial) for one in dropped} & {_undropped(one.trial) for one in bare}
    with_drops, without = ([one for one in tried if _undropped(one.trial) in both] for tried in (dropped, bare))
    return with_drops, without


def _undropped(trial: Trial) -> Trial:
    """The trial that differs in dropouts alone."""
    return replace(trial, drops=BARE, preset=WITHOUT_DROPOUTS)


def _choices(found: Sequence[Found]) -> Iterator[Sheet]:
    """Where several hyper-parameters were tried, what each comes to."""
    for reading, dataset in product(COMPARED, _datasets(found)):
        tried = {
            name: (contestant, mine)
            for name, contestant in CONTESTANTS.items()
            if contestant.method != KERNEL and contestant.curve == USUAL
            if (mine := [one for one in _trained(found, reading, contestant) if one.trial.dataset == dataset])
        }
        choices = sorted({_choice(one.trial) for _, mine in tried.values() for one in mine})
        if len(choices) < 2:
            continue
        rows = []
        for choice in choices:
            cells = []
            for contestant, mine in tried.values():
                chosen = [one for one in mine if _choice(one.trial) == choice]
                accuracies = _accuracies(reading, contestant, dataset, chosen).values()
                cells.append(Cell(tuple(100 * value for value in accuracies), full=FOLDS, digits=1))
            hidden, dropout, batch_size = choice
            rows.append((f"hidden {hidden}, dropout {dropout:g}, batches of {batch_size}", tuple(cells)))
        title = f"{TITLE}, {dataset}, choice by choice, {reading.title}"
        yield Sheet(title, tuple(tried), tuple(rows), "Accuracy in percent over 10 folds, with one choice alone")


def _choice(trial: Trial) -> tuple[int, float, int]:
    """What a grid varies."""
    return trial.hidden, trial.dropout, trial.batch_size


def _course(found: Sequence[Found]) -> Figure:
    """How test accuracy comes and goes while GNNs train, in the mean over so many epochs at a time."""
    curves = []
    for dataset, name in product(DATASETS, DRAWN):
        contestant = CONTESTANTS[name]
        here = [one for one in _trained(found, SELECTED, contestant) if one.trial.dataset == dataset]
        epochs = min((len(one.result[contestant.curve]) for one in here), default=0)
        points = tuple(
            (float(end), tuple(mean(one.result[contestant.curve][end - LAST : end]) for one in here))
            for end in range(LAST, epochs + 1, LAST)
        )
        if points:
            selected = mean(SELECTED.of(here, contestant.curve).values())
            curves.append(Curve(name, points, panel=dataset, level=selected))
    note = (
        f"The mean of {LAST} epochs at a time, drawn at the last of them, over all folds (and hyper-parameters); between them "
        "the learning rate is halved. Dotted: what the protocol selects on the test folds"
    )
    return Figure(f"{TITLE}, accuracy while training", "epoch", tuple(curves), note)


def _datasets(found: Sequence[Found]) -> tuple[str, ...]:
    """Those that have results; before there are any, all."""
    return tuple(name for name in DATASETS if any(one.trial.dataset == name for one in found)) or DATASETS


def _trained(found: Sequence[Found], reading: Reading, contestant: Contestant) -> list[Found]:
    """The trainings of a contestant under a protocol, on all datasets."""
    asked = (reading.protocol, contestant.method, contestant.drops)
    return [one for one in found if (one.trial.protocol, one.trial.method, one.trial.drops) == asked]


def _accuracies(reading: Reading, contestant: Contestant, dataset: str, trained: Sequence[Found]) -> ByFold:
    """What a reading says of a contestant on one dataset: nothing of tests with more runs that were not validated, and nothing of
    a kernel, which has no epochs, where nothing may have been selected."""
    if (reading is VALIDATED and contestant.curve != USUAL) or (reading is UNSELECTED and contestant.method == KERNEL):
        return {}
    return reading.of((one for one in trained if one.trial.dataset == dataset), contestant.curve)


def _own_folds(found: Sequence[Found], reading: Reading) -> str:
    """Datasets whose folds are not those of the GIN paper."""
    own = {
        (one.trial.dataset, note)
        for one in found
        if one.trial.protocol == reading.protocol
        for note in one.result.get("data", ())
        if note.startswith("folds: ")
    }
    return "".join(f". {dataset} has {note}" for dataset, note in sorted(own) if note != PUBLISHED)
