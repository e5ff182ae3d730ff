"""What dropping does: the three ways of the appendix, two of ours, and a control that drops in training only."""

from __future__ import annotations

from collections.abc import Sequence

from dropgnn.experiments.beyond_wl import Trial
from dropgnn.experiments.studies.scale import Scale
from dropgnn.experiments.studies.ways import Ways, sheet_of, trials_of
from dropgnn.experiments.summary import Found, Summary

TITLE = "Ways to drop"
NOTE = "In training only: ordinary regularisation, which leaves a GNN nothing to tell graphs apart by"

WAYS: Ways = {
    "zero the input": {"mode": "zero"},
    "zero every layer": {"mode": "zero-layers"},
    "remove the node": {"mode": "remove"},
    "remove edges": {"mode": "edges"},
    "receive only": {"mode": "receive-only"},
    "in training only": {"regularise": True},
}


def trials(scale: Scale) -> list[Trial]:
    return trials_of(WAYS, scale)


def summarize(found: Sequence[Found]) -> Summary:
    return [sheet_of(TITLE, WAYS, found, NOTE)]
