"""Parsed files, kept as safetensors: tensors and text, nothing that could be executed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

from torch import Tensor

from dropgnn.data.locate import cache_folder
from dropgnn.data.raw import RawGraphs
from dropgnn.errors import DataProblem
from dropgnn.tensor_files import load_tensors, save_tensors

FORMAT = "3"
"""To be changed when the meaning of a kept file changes."""


def parsed(sources: Sequence[Path], parse: Callable[[], RawGraphs]) -> RawGraphs:
    """What ``parse`` makes of the files, or was found to make of files of the same content before."""
    digest = hashlib.blake2b(FORMAT.encode(), digest_size=16)
    for path in sources:
        try:
            content = path.read_bytes()
        except OSError as problem:
            raise DataProblem(f"{path} cannot be read ({problem.strerror})") from problem
        digest.update(f"{path.name} {len(content)} ".encode() + content)
    source = digest.hexdigest()
    found = _load(source)
    if found is None:
        found = parse()
        with suppress(DataProblem):  # a cache that cannot be written is none
            _save(source, found)
    return found


def _path(source: str) -> Path:
    return cache_folder() / "parsed" / f"{source}.safetensors"


def _load(source: str) -> RawGraphs | None:
    """What is kept of a source, or ``None`` where that is nothing, or damaged, or of another source."""
    try:
        tensors, facts = load_tensors(_path(source))
        found = RawGraphs(**tensors, repairs=tuple(facts["repairs"]))
    except (DataProblem, KeyError, TypeError):
        return None
    return found if facts.get("source") == source and found.is_consistent else None


def _save(source: str, raw: RawGraphs) -> None:
    values = {field.name: getattr(raw, field.name) for field in fields(raw)}
    tensors = {name: value for name, value in values.items() if isinstance(value, Tensor)}
    save_tensors(_path(source), tensors, {"source": source, "repairs": raw.repairs})
