"""Studies that change one setting of DropGIN at a time, on all six tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from dropgnn.experiments.beyond_wl import TASKS, Trial
from dropgnn.experiments.studies.scale import FULL, Scale
from dropgnn.experiments.summary import Cell, Found, Sheet

Ways = Mapping[str, Mapping[str, Any]]
"""Settings that differ from the defaults of a trial, by what to call them."""


def trials_of(ways: Ways, scale: Scale) -> list[Trial]:
    """Every way on every task; with few seeds, as ways differ by more than seeds do."""
    scale = replace(scale, seeds=scale.few_seeds)
    return [trial for task in TASKS for way in ways.values() for trial in scale.trials(task, **way)]


def sheet_of(title: str, ways: Ways, found: Sequence[Found], note: str = "") -> Sheet:
    """Test accuracy, a row per task and a column per way."""
    varied = {name for way in ways.values() for name in way}
    default = {field.name: field.default for field in fields(Trial) if field.name in varied}

    def cell(task: str, way: Mapping[str, Any]) -> Cell:
        settings = default | dict(way)
        chosen = (one for one in found if one.trial == replace(one.trial, task=task, method="dropout", **settings))
        return Cell(tuple(one.result["test"] for one in chosen), full=FULL.few_seeds)

    rows = tuple((name, tuple(cell(task, way) for way in ways.values())) for task, name in TASKS.items())
    return Sheet(f"{title}, test accuracy", tuple(ways), rows, note)
