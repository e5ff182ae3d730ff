"""Engines execute runs. All mean the same; they differ in what they compute twice."""

from __future__ import annotations

from collections.abc import Callable

from dropgnn.engine.batched import batched
from dropgnn.engine.copies import Embedded
from dropgnn.engine.reference import reference
from dropgnn.registry import Registry

ENGINES = Registry[Callable[..., Embedded]]("engine", {"reference": reference, "batched": batched})

__all__ = ["ENGINES", "Embedded", "batched", "reference"]
