"""Table 1: six tasks that 1-WL cannot solve, GIN and four ways to help it, and a column of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dropgnn.experiments.beyond_wl import BOTH, METHODS, TASKS, Trial
from dropgnn.experiments.paper import TABLE1
from dropgnn.experiments.studies.scale import FULL, Scale
from dropgnn.experiments.summary import Cell, Found, Sheet, Summary

TITLE = "Table 1: six tasks beyond 1-WL"
COLUMNS = {**METHODS, BOTH: "+ ports + dropout"}


def trials(scale: Scale) -> list[Trial]:
    """The paper's five methods, and ports and dropouts together."""
    return [trial for task in TASKS for method in COLUMNS for trial in scale.trials(task, method)]


def summarize(found: Sequence[Found]) -> Summary:
    """Test and training accuracy."""
    return [accuracies(found, part, TITLE, COLUMNS) for part in ("test", "train")]


def accuracies(found: Sequence[Found], part: str, title: str, columns: Mapping[str, str], note: str = "") -> Sheet:
    """Accuracies of methods on the ``"test"`` or ``"train"`` set of every task, beside the paper's."""

    def cell(task: str, method: str) -> Cell:
        chosen = (one.result[part] for one in found if (one.trial.task, one.trial.method) == (task, method))
        printed = TABLE1[task].get(method)
        return Cell(tuple(chosen), None if printed is None else printed[part], full=FULL.seeds)

    rows = tuple((name, tuple(cell(task, method) for method in columns)) for task, name in TASKS.items())
    kind = {"test": "test", "train": "training"}[part]
    return Sheet(f"{title}, {kind} accuracy", tuple(columns.values()), rows, note)
