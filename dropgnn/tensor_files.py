"""Tensors and facts about them in one file: safetensors, with JSON in its header. Nothing in it could be executed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from dropgnn.errors import DataProblem
from dropgnn.files import written_whole

FACTS, CHECK = "dropgnn", "check"


def save_tensors(path: Path, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
    """Write a file. A reader sees the old one or the new one, never half of it."""
    kept = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    text = json.dumps(facts)
    content = save(kept, metadata={FACTS: text, CHECK: _check(kept, text)})
    try:
        with written_whole(path) as beside:
            beside.write_bytes(content)
    except OSError as problem:
        raise DataProblem(f"{path} cannot be written ({problem.strerror})") from problem


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read a file; one that was damaged or changed since it was written is an error."""
    try:
        there = path.is_file()
    except OSError as problem:
        raise DataProblem(f"{path} cannot be read ({problem.strerror})") from problem
    if not there:
        raise DataProblem(f"{path} does not exist, or is not a file")
    try:
        with safe_open(path, framework="pt") as kept:
            found = {name: kept.get_tensor(name) for name in kept.keys()}  # noqa: SIM118
            header = kept.metadata() or {}
        if header.get(CHECK) != _check(found, header[FACTS]):
            raise ValueError("it was changed after it was written")
        facts = json.loads(header[FACTS])
        if not isinstance(facts, dict):
            raise ValueError("it says nothing about its tensors")
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as problem:
        raise DataProblem(f"{path} is damaged, or was not written by dropgnn ({problem})") from problem
    return found, facts


def _check(tensors: Mapping[str, Tensor], facts: str) -> str:
    """A word that changes with any digit of them."""
    digest = hashlib.blake2b(facts.encode(), digest_size=16)
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)} ".encode())
        if tensor.numel():  # strides of nothing may be anything
            digest.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
