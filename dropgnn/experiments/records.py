"""Whether what a file says about trials can be what trials were and found: asked before anything is made of it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, replace
from types import ModuleType, NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from dropgnn.data.folds import FOLDS
from dropgnn.data.qm9.targets import TARGETS
from dropgnn.data.recipes import PAPER
from dropgnn.errors import InvalidArgument, one_of
from dropgnn.experiments import beyond_wl, graph_classification, property_regression
from dropgnn.experiments.summary import Found
from dropgnn.model.aggregate import AGGREGATORS
from dropgnn.molecules.models import MODELS
from dropgnn.nn.gin import AGGREGATIONS
from dropgnn.runs.modes import MODES
from dropgnn.training.loop import SCHEDULES
from dropgnn.training.presets import DROPS, PRESETS

LARGEST = 1e39
"""Of a number; single precision ends before."""

KNOWN: dict[ModuleType, dict[str, Collection[str]]] = {
    beyond_wl: {
        "task": beyond_wl.TASKS, "preset": PRESETS, "schedule": SCHEDULES, "sampler": beyond_wl.SAMPLERS, "mode": MODES,
        "aggregator": AGGREGATORS, "aggr": AGGREGATIONS,
    },
    graph_classification: {
        "dataset": PAPER, "method": (*graph_classification.ENCODERS, graph_classification.KERNEL), "drops": DROPS,
        "protocol": graph_classification.PROTOCOLS, "preset": PRESETS,
    },
    property_regression: {"model": MODELS, "drops": DROPS, "target": TARGETS, "preset": PRESETS},
}  # fmt: skip
"""Settings of trials that are names, and the names there are."""

NEEDED = {
    beyond_wl: ("train", "test", "exact", "by_runs"),
    graph_classification: ("curve", "more_runs", "test"),
    property_regression: ("test",),
}
"""What summaries ask of a result."""

ONLY_DROPOUT = ("figure-runs", "figure-p", "modes", "samplers", "aggregators")
"""Studies all of whose trials drop nodes, and nothing else."""


def check_trial(experiment: ModuleType, settings: Mapping[str, Any]) -> Any:
    """A trial from its settings, if they are known and of the right types."""
    trial = experiment.Trial(**settings)
    hints = get_type_hints(experiment.Trial)
    for field in fields(trial):
        value = getattr(trial, field.name)
        if not _fits(value, hints[field.name]) or (isinstance(value, int | float) and value < 0):
            raise InvalidArgument(field.name, f"must be {field.type}, and not negative", got=repr(value))
        if field.name in KNOWN[experiment]:
            one_of(field.name, value, KNOWN[experiment][field.name])
    return trial


def check_result(experiment: ModuleType, result: Any) -> dict[str, Any]:
    """A result, if what it has is of the right types; results of the first weeks have less."""
    if not isinstance(result, dict):
        raise InvalidArgument("result", "must be an object", got=type(result).__name__)
    hints = get_type_hints(experiment.Result)
    for name, value in result.items():
        if name not in hints or not _fits(value, hints[name]):
            raise InvalidArgument(
                f"result of a trial: {name}", f"must be {hints.get(name, 'left out')}", got=_kind(value)
            )
    return result


def check_study(study: str, experiment: ModuleType, found: Sequence[Found]) -> None:
    """Whether the study can be summarised from these trials."""
    if len({one.trial for one in found}) < len(found):
        raise InvalidArgument("trials", "must be different", got="one of them twice")
    for one in found:
        if lacking := [name for name in NEEDED[experiment] if name not in one.result]:
            raise InvalidArgument(
                "result of a trial", f"must have {', '.join(lacking)}", got=", ".join(one.result) or "none"
            )
        if experiment is beyond_wl:
            _check_synthetic(study, one)
        elif experiment is graph_classification:
            _check_fold(one)
    if experiment is graph_classification:
        _check_lengths(found)


def _check_synthetic(study: str, one: Found) -> None:
    """Whether trials are of a kind that the study has, and were tested in all its ways."""
    trial, result = one.trial, one.result
    if (study in ONLY_DROPOUT and trial.method != "dropout") or (trial.regularise and study != "modes"):
        raise InvalidArgument("method", f"must be one that study {study} has", got=repr(trial.method))
    if trial.method != "dropout" or trial.regularise or study == "table1":
        return  # no more is asked
    most = 3 if study == "ours" and trial.p is not None else 2
    exact = {f"exhaustive-{k}" for k in range(1, most + 1)}
    runs = set(map(str, beyond_wl.TEST_RUNS))
    if not (exact <= result["exact"].keys() and runs <= result["by_runs"].keys() and all(result["by_runs"].values())):
        raise InvalidArgument("result of a trial", "must have all tests of a model that drops nodes", got="fewer")


def _check_fold(one: Found) -> None:
    trial, result = one.trial, one.result
    if trial.fold >= FOLDS:
        raise InvalidArgument("fold", f"must be less than {FOLDS}", got=trial.fold)
    if not result["curve"] or (trial.drops == "random" and len(result["more_runs"]) != len(result["curve"])):
        raise InvalidArgument("curve", "must have an accuracy for every epoch", got=f"{len(result['curve'])} of them")
    if not all(0 <= value <= 1 for name in ("curve", "more_runs") for value in result[name]):
        raise InvalidArgument("curve", "must be accuracies from 0 to 1", got="others")
    if trial.protocol == "nested" and result["test"] is None:
        raise InvalidArgument("test", "must be there in protocol nested", got=None)


def _check_lengths(found: Sequence[Found]) -> None:
    """Folds are compared epoch by epoch."""
    lengths: dict[Any, tuple[int, int]] = {}
    for one in found:
        here = len(one.result["curve"]), len(one.result["more_runs"])
        if lengths.setdefault(replace(one.trial, fold=0), here) != here:
            raise InvalidArgument(
                "curve", "must be as long on every fold", got=f"{here[0]} epochs on fold {one.trial.fold}"
            )


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value out of JSON is of a type. Numbers have bounds, and may be NaN, where a training diverged."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in inner)
    if origin is list:
        return isinstance(value, list) and all(_fits(one, inner[0]) for one in value)
    if origin is dict:
        return isinstance(value, dict) and all(_fits(one, inner[1]) for one in value.values())
    if hint in (int, float):
        whole = isinstance(value, int) and not isinstance(value, bool)
        right = whole or (hint is float and isinstance(value, float))
        return right and (abs(value) <= LARGEST or (isinstance(value, float) and math.isnan(value)))
    return isinstance(value, NoneType if hint in (None, NoneType) else hint)


def _kind(value: Any) -> str:
    return type(value).__name__
