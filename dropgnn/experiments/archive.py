"""A whole study in one compact file, from which the report can be rebuilt without the trials."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_type_hints

from dropgnn.errors import DropGNNError, InvalidArgument
from dropgnn.experiments.store import Store
from dropgnn.experiments.studies import STUDIES
from dropgnn.experiments.summary import Found
from dropgnn.files import written_whole

DIGITS = 6
"""Significant digits that are kept."""


@dataclass(frozen=True)
class Archive:
    """The finished trials of a study, and how many it has when complete; ``name`` tells smaller and larger ones apart."""

    name: str
    study: str
    found: tuple[Found, ...]
    planned: int
    made_by: dict[str, str]
    command: str
    experiment: str = ""
    """What its trials meant when they were run; files of the first weeks do not say."""


def collect(name: str, study: str, trials: Sequence[Any], store: Store, command: str) -> Archive:
    """What is finished of a study, and all versions that had a part in it."""
    records = [(trial, record) for trial in trials if (record := store.record(trial)) is not None]
    found = tuple(
        Found(trial, record["result"], record["seconds"], _one_commit(record["versions"])) for trial, record in records
    )
    made_by: dict[str, set[str]] = {}
    for _, record in records:
        for package, number in record["versions"].items():
            made_by.setdefault(package, set()).update(number.split(", "))
    versions = {package: ", ".join(sorted(numbers)) for package, numbers in made_by.items()}
    return Archive(name, study, found, len(trials), versions, command, store.experiment)


def save_archive(folder: Path, archive: Archive) -> bool:
    """Write atomically, unless there is one with more trials already; numbers are rounded."""
    path = folder / f"{archive.name}.json"
    if path.is_file() and len(load_archive(path).found) > len(archive.found):
        return False
    trials = [
        {"trial": asdict(one.trial), "result": _rounded(one.result), "seconds": round(one.seconds, 1)}
        | ({"commit": one.commit} if one.commit else {})
        for one in archive.found
    ]
    head = {
        "study": archive.study, "experiment": archive.experiment, "planned": archive.planned, "command": archive.command,
        "versions": archive.made_by,
    }  # fmt: skip
    lines = ",\n".join(json.dumps(trial) for trial in trials)
    with written_whole(path) as beside:
        beside.write_text(f'{json.dumps(head)[:-1]}, "trials": [\n{lines}\n]}}\n', encoding="utf-8")
    return True


def load_archive(path: Path) -> Archive:
    """Read a study back."""
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        study = STUDIES[read["study"]]
        found = tuple(
            Found(study.trial(one["trial"]), one["result"], one["seconds"], one.get("commit", ""))
            for one in read["trials"]
        )
        return Archive(
            path.stem,
            read["study"],
            found,
            read["planned"],
            read["versions"],
            read["command"],
            read.get("experiment", ""),
        )
    except (ValueError, KeyError, TypeError, InvalidArgument) as problem:
        raise DropGNNError(
            f"{path.name} is not a study's file ({problem}); remove it, or make it again with dropgnn reproduce"
        ) from problem


def adopt(folder: Path, study: str, trials: Sequence[Any], store: Store) -> int:
    """Put into the store what the study's files in the folder have of these trials and it has not; returns how many."""
    missing = {trial for trial in trials if store.get(trial) is None}
    lacked, needed = len(missing), set(get_type_hints(STUDIES[study].experiment.Result)) - {"seconds"}
    for path in sorted(folder.glob(f"{study}*.json")):
        archive = load_archive(path)
        if archive.study != study or archive.experiment != store.experiment:
            continue
        for one in archive.found:
            if one.trial in missing and needed <= one.result.keys() and store.accepts(one.trial, one.result):
                made_by = archive.made_by | ({"commit": one.commit} if one.commit else {})
                store.put(one.trial, one.result, seconds=one.seconds, made_by=made_by)
                missing.remove(one.trial)
    return lacked - len(missing)


def _one_commit(versions: dict[str, str]) -> str:
    """The commit, unless it is one of several: files of the first weeks do not say which."""
    commit = versions.get("commit", "")
    return "" if "," in commit else commit


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {name: _rounded(inner) for name, inner in value.items()}
    return [_rounded(inner) for inner in value] if isinstance(value, list) else value
