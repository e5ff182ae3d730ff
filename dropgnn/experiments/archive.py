"""A whole study in one compact file, from which the report can be rebuilt without the trials."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from dropgnn.errors import DropGNNError
from dropgnn.experiments.beyond_wl import Trial
from dropgnn.experiments.store import Store, versions
from dropgnn.experiments.summary import Found

DIGITS = 6


@dataclass(frozen=True)
class Archive:
    """The finished trials of a study, and how many it has when complete."""

    study: str
    found: tuple[Found, ...]
    planned: int
    made_by: dict[str, str]
    command: str


def collect(study: str, trials: Sequence[Trial], store: Store, command: str) -> Archive:
    """What is finished of a study."""
    found = [Found(trial, record["result"], record["seconds"]) for trial in trials if (record := store.record(trial))]
    return Archive(study, tuple(found), len(trials), versions(), command)


def save_archive(path: Path, archive: Archive) -> None:
    """Write atomically; settings that are a trial's defaults are left out, numbers are rounded."""
    default = {field.name: field.default for field in fields(Trial)}
    trials = [
        {
            "trial": {name: value for name, value in asdict(one.trial).items() if value != default[name]},
            "result": _rounded(one.result),
            "seconds": round(one.seconds, 1),
        }
        for one in archive.found
    ]
    head = {"study": archive.study, "planned": archive.planned, "command": archive.command, "versions": archive.made_by}
    lines = ",\n".join(json.dumps(trial) for trial in trials)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".part")
    beside.write_text(f'{json.dumps(head)[:-1]}, "trials": [\n{lines}\n]}}\n', encoding="utf-8")
    beside.replace(path)


def load_archive(path: Path) -> Archive:
    """Read a study back."""
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        found = tuple(Found(Trial(**one["trial"]), one["result"], one["seconds"]) for one in read["trials"])
        return Archive(read["study"], found, read["planned"], read["versions"], read["command"])
    except (ValueError, KeyError, TypeError) as problem:
        raise DropGNNError(
            f"{path.name} is not a study's file ({problem}); remove it, or make it again with dropgnn reproduce"
        ) from problem


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, dict):
        return {name: _rounded(inner) for name, inner in value.items()}
    return [_rounded(inner) for inner in value] if isinstance(value, list) else value
