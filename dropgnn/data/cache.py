"""Parsed files, kept as safetensors: tensors and text, nothing that could be executed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from dropgnn.data.locate import cache_folder
from dropgnn.data.raw import RawGraphs
from dropgnn.files import written_whole

FORMAT = "1"
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
        with suppress(OSError):  # a cache that cannot be written is none
            _save(path, found)
    return found


def _load(path: Path) -> RawGraphs | None:
    """What is kept there, or ``None`` where that is nothing, or damaged."""
    try:
        with safe_open(path, framework="pt") as kept:
            tensors = {name: kept.get_tensor(name) for name in kept.keys()}  # noqa: SIM118
            return RawGraphs(**tensors, repairs=tuple(json.loads((kept.metadata() or {})["repairs"])))
    except (OSError, SafetensorError, KeyError, TypeError, ValueError):
        return None


def _save(path: Path, raw: RawGraphs) -> None:
    values = {field.name: getattr(raw, field.name) for field in fields(raw)}
    tensors = {name: value.contiguous() for name, value in values.items() if isinstance(value, Tensor)}
    with written_whole(path) as beside:
        save_file(tensors, beside, metadata={"repairs": json.dumps(raw.repairs)})
