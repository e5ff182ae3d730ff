"""Table 3: twelve properties of molecules, 1-GNN and MPNN with and without dropouts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from dropgnn.data.qm9.targets import TARGETS
from dropgnn.experiments.paper import TABLE3, Printed
from dropgnn.experiments.property_regression import Trial
from dropgnn.experiments.summary import Cell, Found, Sheet, Summary
from dropgnn.training.presets import WITHOUT_DROPOUTS

TITLE = "Table 3: properties of molecules"
DROPS = ("none", "random", "exact")
"""Without dropouts, with the paper's, and with all of one atom, each weighted by its probability."""


class Family(NamedTuple):
    """A model without and with dropouts: our names, one for each of ``DROPS``, and the paper's columns."""

    names: tuple[str, str, str]
    paper: tuple[str | None, str | None, None] = (None, None, None)


FAMILIES = {
    "1-gnn": Family(("1-GNN", "Drop-1-GNN", "Drop-1-GNN, exact"), ("1-GNN", "Drop-1-GNN", None)),
    "1-gnn-skip": Family(("1-GNN, skips", "Drop-1-GNN, skips", "Drop-1-GNN, skips, exact")),
    "mpnn": Family(("MPNN", "DropMPNN", "DropMPNN, exact"), ("MPNN", "DropMPNN", None)),
}
REPEATED, SEEDS = ("mu", "gap", "zpve"), 3
"""Targets that the 1-GNN is trained on with several seeds, where no number of seeds is asked for."""


@dataclass(frozen=True)
class Extent:
    """How large the study is.

    Args:
        models: Names in ``FAMILIES``.
        targets: Names of properties.
        limit: Molecules, by default all.
        epochs: The paper's 300, or fewer.
        seeds: Trainings for each number; by default one, and three for some targets of the 1-GNN.
        preset: How p, r and the auxiliary loss are chosen.
    """

    models: tuple[str, ...] = tuple(FAMILIES)
    targets: tuple[str, ...] = tuple(TARGETS)
    limit: int | None = None
    epochs: int = 300
    seeds: int | None = None
    preset: str = "published"


def trials(extent: Extent) -> list[Trial]:
    """Every model with and without dropouts on every target; first seeds first."""
    found = [
        Trial(model, drops, target, extent.limit, extent.epochs, _preset(extent, drops), seed)
        for model, target, drops in product(extent.models, extent.targets, DROPS)
        for seed in range(_seeds(extent, model, target))
    ]
    return sorted(found, key=lambda trial: trial.seed)


def _preset(extent: Extent, drops: str) -> str:
    return WITHOUT_DROPOUTS if drops == "none" else extent.preset


def _seeds(extent: Extent, model: str, target: str) -> int:
    if extent.seeds is not None:
        return extent.seeds
    return SEEDS if model == "1-gnn" and target in REPEATED else 1


def summarize(found: Sequence[Found]) -> Summary:
    """Errors, and what dropouts do to them."""
    targets = [target for target in TARGETS if any(one.trial.target == target for one in found)]
    models = [model for model in FAMILIES if any(one.trial.model == model for one in found)]
    errors, ratios = [], []
    for target in targets:
        cells, quotients = [], []
        for model in models:
            full = _seeds(Extent(), model, target)
            by_drops = [_errors(found, model, drops, target) for drops in DROPS]
            printed = [None if name is None else TABLE3[target].get(name) for name in FAMILIES[model].paper]
            cells += [_error_cell(one, paper, full) for one, paper in zip(by_drops, printed, strict=True)]
            base = by_drops[0]
            for drop, paper in zip(by_drops[1:], printed[1:], strict=True):
                quotient = [drop[seed] / base[seed] for seed in sorted(base.keys() & drop.keys()) if base[seed]]
                quotients.append(Cell(tuple(quotient), _ratio(printed[0], paper), full=full))
        errors.append((f"{target}, {TARGETS[target].unit}", tuple(cells)))
        ratios.append((target, tuple(quotients)))
    note = (
        f"Mean absolute error on test molecules, over seeds. {_extent(found)}; the paper's values are for all 130,831 and 300 "
        "epochs. Exact: all dropouts of one atom, weighted by their probabilities, instead of random ones"
    )
    return [
        Sheet(
            f"{TITLE}, errors", tuple(name for model in models for name in FAMILIES[model].names), tuple(errors), note
        ),
        Sheet(
            f"{TITLE}, with dropouts over without",
            tuple(name for model in models for name in FAMILIES[model].names[1:]),
            tuple(ratios),
            "The error with dropouts divided by that without, seed by seed: below 1 dropouts help" + _caution(models),
        ),
    ]


def _errors(found: Sequence[Found], model: str, drops: str, target: str) -> dict[int, float]:
    """The test error of every seed."""
    asked = (model, drops, target)
    return {
        one.trial.seed: one.result["test"]
        for one in found
        if (one.trial.model, one.trial.drops, one.trial.target) == asked
    }


def _error_cell(errors: dict[int, float], paper: Printed | None, full: int) -> Cell:
    values = tuple(errors.values())
    return Cell(values, paper, full=full, digits=significant(values[0]) if values else 2)


def significant(value: float, digits: int = 3) -> int:
    """Decimals that show so many significant digits.

    >>> significant(0.00123), significant(30.8), significant(0.49)
    (5, 1, 3)
    """
    if not math.isfinite(value):
        return digits - 1
    whole = f"{value:e}"
    return max(0, digits - 1 - int(whole.split("e")[1]))


def _ratio(base: Printed | None, drop: Printed | None) -> Printed | None:
    return None if base is None or drop is None else Printed(drop.mean / base.mean, None)


def _caution(models: Sequence[str]) -> str:
    quoted = ". The paper's MPNN is quoted from MoleculeNet, so that its ratio is not one of dropouts alone"
    return quoted if "mpnn" in models else ""


def _extent(found: Sequence[Found]) -> str:
    sizes = sorted({(one.trial.limit or 0, one.trial.epochs) for one in found})
    many = ((f"{limit:,}" if limit else "all", epochs) for limit, epochs in sizes)
    return "; ".join(f"{number} molecules, 80/10/10, {epochs} epochs" for number, epochs in many)
