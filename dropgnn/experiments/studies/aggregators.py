"""How runs, and how neighbours, become one."""

from __future__ import annotations

from collections.abc import Sequence

from dropgnn.experiments.beyond_wl import Trial
from dropgnn.experiments.studies.scale import Scale
from dropgnn.experiments.studies.ways import Ways, sheet_of, trials_of
from dropgnn.experiments.summary import Found, Summary

TITLE = "Aggregators"
NOTE = "The first column is the paper's choice; every other one changes one of its two aggregators"

WAYS: Ways = {
    "mean over runs, sum over neighbours": {},
    "sum over runs": {"aggregator": "sum"},
    "max over runs": {"aggregator": "max"},
    "transform, then sum over runs": {"aggregator": "transform-sum"},
    "mean over neighbours": {"aggr": "mean"},
    "max over neighbours": {"aggr": "max"},
}


def trials(scale: Scale) -> list[Trial]:
    return trials_of(WAYS, scale)


def summarize(found: Sequence[Found]) -> Summary:
    return [sheet_of(TITLE, WAYS, found, NOTE)]
