"""How accuracies are read off the trainings of Table 2, fold by fold: what is selected, and on which graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import chain
from statistics import mean
from typing import NamedTuple

from dropgnn.experiments.graph_classification import PROTOCOLS, Trial, best_epoch
from dropgnn.experiments.summary import Found

LAST = 50
"""Epochs, between which the learning rate no longer changes."""

LARGEST_FOLD = 500
"""Graphs; the paper's have at most 150."""

Choice = Sequence[Found]
"""The folds of one choice of hyper-parameters."""

ByFold = dict[int, float]
"""The accuracy on each fold."""


class Reading(NamedTuple):
    """How a table is read off the trainings of a protocol.

    Args:
        protocol: Whose trainings.
        title: In the table's title.
        note: What its figures are, in a sentence.
        accuracies: From all choices and the name of a curve to an accuracy per fold.
    """

    protocol: str
    title: str
    note: str
    accuracies: Callable[[Sequence[Choice], str], ByFold]

    def of(self, found: Iterable[Found], curve: str) -> ByFold:
        """The accuracies of one contestant on one dataset, fold after fold."""
        choices: dict[Trial, list[Found]] = {}
        for one in found:
            choices.setdefault(replace(one.trial, fold=0), []).append(one)
        return dict(sorted(self.accuracies(list(choices.values()), curve).items()))


@cache
def _exact(accuracy: float) -> Fraction:
    """An accuracy is a number of graphs out of few, which files round; and rounding must not decide between equal means."""
    return Fraction(accuracy).limit_denominator(LARGEST_FOLD)


def _means(curves: Iterable[Sequence[float]]) -> list[Fraction]:
    """Over several folds, epoch by epoch."""
    return [sum(map(_exact, accuracies), Fraction()) / len(accuracies) for accuracies in zip(*curves, strict=True)]


def _selected(choices: Sequence[Choice], curve: str) -> ByFold:
    """For the best choice of hyper-parameters and epoch by the mean over test folds, the accuracy on each."""
    tried = []
    for folds in choices:
        curves = {one.trial.fold: one.result[curve] for one in folds}
        epoch = best_epoch(_means(curves.values()))
        tried.append({fold: accuracies[epoch] for fold, accuracies in curves.items()})
    return max(tried, key=lambda values: (len(values), sum(map(_exact, values.values()))), default={})


def _chosen_elsewhere(choices: Sequence[Choice], curve: str) -> ByFold:
    """For every fold the accuracy at the choice and epoch that are best on the others."""
    by_choice = [{one.trial.fold: one.result[curve] for one in folds} for folds in choices]
    values = {}
    for fold in set[int]().union(*by_choice):
        known = [curves for curves in by_choice if fold in curves and len(curves) > 1]
        tried = [(_means(curves[other] for other in curves if other != fold), curves[fold]) for curves in known]
        if tried:
            elsewhere, here = max(tried, key=lambda pair: max(pair[0]))
            values[fold] = here[best_epoch(elsewhere)]
    return values


def _unselected(choices: Sequence[Choice], curve: str) -> ByFold:
    """For every fold the mean over the last epochs, of all choices."""
    return {
        fold: mean(chain.from_iterable(one.result[curve][-LAST:] for one in tried))
        for fold, tried in _by_fold(choices).items()
    }


def _validated(choices: Sequence[Choice], curve: str) -> ByFold:
    """For every fold the test accuracy of the choice that was best in validation."""
    return {
        fold: max(tried, key=lambda one: max(one.result[curve])).result["test"]
        for fold, tried in _by_fold(choices).items()
    }


def _by_fold(choices: Iterable[Choice]) -> dict[int, list[Found]]:
    """Everything that was tried on each fold."""
    by_fold: dict[int, list[Found]] = {}
    for one in chain.from_iterable(choices):
        by_fold.setdefault(one.trial.fold, []).append(one)
    return by_fold


SELECTED, ELSEWHERE, UNSELECTED, VALIDATED = READINGS = (
    Reading(
        "gin",
        "protocol gin",
        "Accuracy in percent over 10 folds, at the epoch (and the hyper-parameters, where several were tried) whose mean over "
        f"the test folds is best: {PROTOCOLS['gin'].note}, as the paper reports it. Behind ± the deviation over folds; the "
        "standard error of a mean over ten is a third of it",
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
        "hyper-parameters): what one gets without looking, and without the luck of a single epoch",
        _unselected,
    ),
    Reading(
        "nested",
        "protocol nested",
        f"Accuracy in percent over 10 folds, at the epoch (and the hyper-parameters) {PROTOCOLS['nested'].note}; the test fold "
        "is looked at once",
        _validated,
    ),
)
