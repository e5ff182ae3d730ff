"""A whole study in one compact file, from which the report can be rebuilt without the trials."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

from dropgnn.errors import DataProblem, InvalidArgument, whole_number
from dropgnn.experiments.records import check_result, check_study, check_trial
from dropgnn.experiments.store import Store
from dropgnn.experiments.studies import STUDIES
from dropgnn.experiments.summary import Found
from dropgnn.files import read_json, written_whole

DIGITS = 6
"""Significant digits that are kept."""

LONGEST = 1e12
"""Seconds that a trial may have taken."""


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
    if path.is_file() and len(_read(path).found) > len(archive.found):
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
    """Read a study back. Its trials are known ones, and its summary can be made of their results."""
    archive = _read(path)
    with _named(path):
        check_study(archive.study, STUDIES[archive.study].experiment, archive.found)
    return archive


def _read(path: Path) -> Archive:
    """What a file says, results of the first weeks included, which lack what was not yet asked."""
    with _named(path):
        read = read_json(path)
        experiment = STUDIES[read["study"]].experiment
        found = tuple(_found(experiment, one) for one in read["trials"])
        texts = (read["command"], read.get("experiment", ""), *read["versions"], *read["versions"].values())
        if not all(isinstance(text, str) for text in texts):
            raise InvalidArgument("command, experiment and versions", "must be texts", got="something else")
        planned = whole_number("planned", read["planned"], least=len(found))
        return Archive(
            path.stem, read["study"], found, planned, read["versions"], read["command"], read.get("experiment", "")
        )


def _found(experiment: ModuleType, one: dict[str, Any]) -> Found:
    seconds, commit = one["seconds"], one.get("commit", "")
    if not isinstance(commit, str) or isinstance(seconds, bool) or not 0 <= seconds < LONGEST:
        raise InvalidArgument("seconds and commit", "must be a duration and a text", got=(seconds, commit))
    return Found(check_trial(experiment, one["trial"]), check_result(experiment, one["result"]), seconds, commit)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    try:
        yield
    except (KeyError, TypeError, AttributeError, DataProblem, InvalidArgument) as problem:
        raise DataProblem(
            f"{path} is not a study's file ({problem}); remove it, or make it again with dropgnn reproduce"
        ) from problem


def adopt(folder: Path, study: str, trials: Sequence[Any], store: Store) -> int:
    """Put into the store what the study's files in the folder have of these trials and it has not; returns how many."""
    missing = {trial for trial in trials if store.get(trial) is None}
    lacked, needed = len(missing), set(get_type_hints(STUDIES[study].experiment.Result)) - {"seconds"}
    for path in sorted(folder.glob(f"{study}*.json")):
        archive = _read(path)
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
