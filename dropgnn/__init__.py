"""DropGNN: random or exact dropouts make a graph neural network more expressive."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dropgnn.errors import DropGNNError, InvalidArgument, Unsupported
    from dropgnn.graph import Graph
    from dropgnn.model.dropgnn import DropGNN
    from dropgnn.nn.gin import GIN, GINE
    from dropgnn.runs.runs import Runs
    from dropgnn.runs.samplers import Bernoulli, Exhaustive, Stratified
    from dropgnn.theory.plan import RunPlan

__version__ = "0.1.0"

__all__ = [
    "GIN",
    "GINE",
    "Bernoulli",
    "DropGNN",
    "DropGNNError",
    "Exhaustive",
    "Graph",
    "InvalidArgument",
    "RunPlan",
    "Runs",
    "Stratified",
    "Unsupported",
]

_HOMES = {
    "dropgnn.errors": ("DropGNNError", "InvalidArgument", "Unsupported"),
    "dropgnn.graph": ("Graph",),
    "dropgnn.nn.gin": ("GIN", "GINE"),
    "dropgnn.model.dropgnn": ("DropGNN",),
    "dropgnn.runs.runs": ("Runs",),
    "dropgnn.runs.samplers": ("Bernoulli", "Exhaustive", "Stratified"),
    "dropgnn.theory.plan": ("RunPlan",),
}


def __getattr__(name: str) -> object:
    """Import on first use: PyG alone takes seconds, which ``dropgnn --help`` need not wait for."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'dropgnn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
