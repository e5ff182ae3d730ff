"""Where finished trials are kept: one small JSON file each, named by everything that decides the result."""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dropgnn.errors import DropGNNError
from dropgnn.files import read_json, written_whole


class Store:
    """Results by trial. Writing is atomic; a file that cannot be read is set aside, and its trial counts as missing.

    Args:
        folder: Where the files are; made when the first result comes.
        experiment: What the trials belong to.
        belongs: Whether a trial's result is one of today's; by default every result is. Others count as missing.
    """

    def __init__(
        self, folder: Path, experiment: str, belongs: Callable[[Any, Mapping[str, Any]], bool] | None = None
    ) -> None:
        self.folder, self.experiment, self.belongs = folder, experiment, belongs

    def config(self, trial: Any) -> dict[str, Any]:
        if not is_dataclass(trial) or isinstance(trial, type):
            raise DropGNNError(f"a trial must be a dataclass, got {type(trial).__name__}")
        return {"experiment": self.experiment, **asdict(trial)}

    def path(self, trial: Any) -> Path:
        """The file of a trial."""
        text = json.dumps(self.config(trial), sort_keys=True)
        name = hashlib.blake2b(text.encode(), digest_size=10).hexdigest()
        return self.folder / f"{self.experiment}-{name}.json"

    def unfinished(self, trial: Any) -> Path:
        """A file for what a trial needs to go on; it is removed when there is a result."""
        return self.path(trial).with_suffix(".checkpoint")

    def get(self, trial: Any) -> dict[str, Any] | None:
        """The result of a trial, or ``None`` where there is none yet."""
        record = self.record(trial)
        return None if record is None else record["result"]

    def record(self, trial: Any) -> dict[str, Any] | None:
        """The same with everything else that was kept: duration, date, versions."""
        path = self.path(trial)
        if not path.is_file():
            return None
        try:
            found = read_json(path)
            if found["config"] != json.loads(json.dumps(self.config(trial))) or not isinstance(found["result"], dict):
                raise ValueError("it belongs to another trial")
            if found["check"] != _check(found["config"], found["result"]):
                raise ValueError("it was changed after it was written")
            if not isinstance(found["seconds"], int | float) or not 0 <= found["seconds"] < 1e300:
                raise ValueError("its duration is damaged")
            if not isinstance(found["versions"]["dropgnn"], str):
                raise ValueError("its versions are damaged")
            if not all(isinstance(number, str) for number in found["versions"].values()):
                raise ValueError("its versions are damaged")
        except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError, RecursionError):
            with suppress(OSError):  # someone else was faster, or the folder cannot be written
                path.replace(path.with_suffix(".broken"))
            return None
        return found if self.accepts(trial, found["result"]) else None

    def accepts(self, trial: Any, result: Mapping[str, Any]) -> bool:
        """Whether it is a result of today's."""
        return self.belongs is None or self.belongs(trial, result)

    def put(
        self, trial: Any, result: Mapping[str, Any], *, seconds: float, made_by: Mapping[str, str] | None = None
    ) -> None:
        """Keep a result, and the versions it was made by, else those of today. A reader sees the old state or the new one,
        never half a file, even if the power fails."""
        record = {
            "config": self.config(trial),
            "result": result,
            "check": _check(self.config(trial), result),
            "seconds": round(seconds, 3),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": versions() if made_by is None else dict(made_by),
        }
        with written_whole(self.path(trial)) as beside:
            beside.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        self.unfinished(trial).unlink(missing_ok=True)


def _check(config: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    """A word that changes with any digit of them."""
    return hashlib.blake2b(json.dumps([config, result], sort_keys=True).encode(), digest_size=8).hexdigest()


@cache
def versions() -> dict[str, str]:
    """What computes results: packages, and the commit of the code where it lies in a repository of its own."""
    packages = ("dropgnn", "torch", "torch_geometric", "numpy", "numba")
    found = {"python": platform.python_version()} | {name: version(name) for name in packages}
    root = Path(__file__).resolve().parents[2]
    if (root / ".git").exists():
        try:
            asked = subprocess.run(
                ["git", "describe", "--always", "--dirty"], cwd=root, capture_output=True, text=True, check=True
            )
            found["commit"] = asked.stdout.strip()
        except (OSError, subprocess.CalledProcessError):
            pass  # no git, no commit
    return found
