"""The names that the command line knows without importing torch are those of the registries."""

from __future__ import annotations

import pytest

from dropgnn.cli import names
from dropgnn.data.qm9.arrays import CHEMISTRY
from dropgnn.data.recipes import FEATURES, FILTERS, PAPER
from dropgnn.data.synthetic import SYNTHETIC
from dropgnn.errors import InvalidArgument
from dropgnn.experiments import brec_trained
from dropgnn.experiments.beyond_wl import BOTH, METHODS, TASKS
from dropgnn.experiments.graph_classification import PROTOCOLS
from dropgnn.experiments.studies import QUICK, SYNTHETIC_STUDIES
from dropgnn.experiments.studies.table2 import CONTESTANTS, DATASETS, MAIN
from dropgnn.experiments.studies.table3 import FAMILIES
from dropgnn.molecules.models import FEWEST, MODELS
from dropgnn.nn.heads import POOLS
from dropgnn.training.presets import DROPS, PRESETS


def test_names_are_those_of_the_registries() -> None:
    assert tuple(PRESETS) == names.PRESETS
    assert tuple(DROPS) == names.DROPS
    assert tuple(TASKS) == tuple(SYNTHETIC) == names.TASKS
    assert (*METHODS, BOTH) == names.METHODS
    assert tuple(PAPER) == DATASETS == names.DATASETS
    assert tuple(FEATURES) == names.FEATURES
    assert tuple(FILTERS) == names.FILTERS
    assert tuple(PROTOCOLS) == names.PROTOCOLS
    assert tuple(POOLS) == names.POOLS
    assert tuple(MODELS) == tuple(FAMILIES) == names.MODELS
    assert CHEMISTRY == names.CHEMISTRY
    assert FEWEST == names.FEWEST_MOLECULES
    assert tuple(brec_trained.METHODS) == names.BREC_METHODS


def test_studies_have_these_tasks_and_methods() -> None:
    assert tuple(SYNTHETIC_STUDIES) == tuple(names.STUDIES)
    for study, (tasks, methods) in names.STUDIES.items():
        found = {(trial.task, trial.method) for trial in SYNTHETIC_STUDIES[study](QUICK)}
        assert found == {(task, method) for task in tasks for method in methods}, study


def test_rivals_have_these_dropouts() -> None:
    rivals = [contestant for name, contestant in CONTESTANTS.items() if name not in MAIN]
    assert {contestant.drops for contestant in rivals} == set(names.RIVAL_DROPS)


def test_lists_are_separated_by_commas_or_given_again() -> None:
    known = ("a", "b", "c")
    assert names.listed("task", None, known) is None
    for given in (["b,a"], ["b", "a"], [" b , a", "b"]):
        assert names.listed("task", given, known) == ("b", "a")
    with pytest.raises(InvalidArgument, match="'task' must be one of a, b, c"):
        names.listed("task", ["a,"], known)
