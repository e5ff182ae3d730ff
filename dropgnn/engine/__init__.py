"""Engines execute runs. All mean the same; they differ in what they compute twice. See README.md in this folder."""

from __future__ import annotations

from collections.abc import Callable

from dropgnn.engine.batched import batched
from dropgnn.engine.embedded import Embedded
from dropgnn.engine.reference import reference
from dropgnn.engine.shared import shared
from dropgnn.ops.memory import keep_freed_blocks
from dropgnn.registry import Registry

ENGINES = Registry[Callable[..., Embedded]]("engine", {"reference": reference, "batched": batched, "shared": shared})

keep_freed_blocks()

__all__ = ["ENGINES", "Embedded", "batched", "reference", "shared"]
