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

FORMAT = "2"
"""To be changed when the meaning of a kept file changes."""


def parsed(sources: Sequence[Path], parse: Callable[[], RawGraphs]) -> RawGraphs:
    """What ``parse`` makes of the files, or was found to make of files of the same content before."""
    digest = hashlib.blake2b(FORMAT.encode(), digest_size=16)
    for source in sources:
        content = source.read_bytes()
        digest.update(f"{source.name} {len(content)} ".encode() + content)
    path = cache_folder() / "parsed" / f"{digest.hexdigest()}.safetensors"
    found = _load(path)
    if found is None:
        found = parse()
        with suppress(DataProblem):  # a cache that cannot be written is none
            _save(path, found)
    return found


def _load(path: Path) -> RawGraphs | None:
    """What is kept there, or ``None`` where that is nothing, or damaged."""
    try:
        tensors, facts = load_tensors(path)
        found = RawGraphs(**tensors, repairs=tuple(facts["repairs"]))
    except (DataProblem, KeyError, TypeError):
        return None
    return found if found.is_consistent else None


def _save(path: Path, raw: RawGraphs) -> None:
    values = {field.name: getattr(raw, field.name) for field in fields(raw)}
    tensors = {name: value for name, value in values.items() if isinstance(value, Tensor)}
    save_tensors(path, tensors, {"repairs": raw.repairs})
