"""The model around any GNN, and the pieces it is made of.

What is defined in this folder are plain modules: they know nothing of runs or of engines.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from dropgnn.nn.encoder import Encoder
from dropgnn.nn.gin import GIN, GINE
from dropgnn.nn.heads import LayerReadout, Pooled, Set2SetReadout
from dropgnn.nn.mpnn import MPNN
from dropgnn.nn.norm import WeightedBatchNorm
from dropgnn.nn.one_gnn import OneGNN

if TYPE_CHECKING:
    from dropgnn.model.aggregate import AGGREGATORS, Aggregator, Max, Mean, Sum, TransformSum
    from dropgnn.model.dropgnn import DropGNN
    from dropgnn.model.outcome import Outcome
    from dropgnn.model.sharing import SharingReport, share_layer

__all__ = [
    "AGGREGATORS",
    "GIN",
    "GINE",
    "MPNN",
    "Aggregator",
    "DropGNN",
    "Encoder",
    "LayerReadout",
    "Max",
    "Mean",
    "OneGNN",
    "Outcome",
    "Pooled",
    "Set2SetReadout",
    "SharingReport",
    "Sum",
    "TransformSum",
    "WeightedBatchNorm",
    "share_layer",
]

_HOMES = {
    "dropgnn.model.aggregate": ("AGGREGATORS", "Aggregator", "Max", "Mean", "Sum", "TransformSum"),
    "dropgnn.model.dropgnn": ("DropGNN",),
    "dropgnn.model.outcome": ("Outcome",),
    "dropgnn.model.sharing": ("SharingReport", "share_layer"),
}


def __getattr__(name: str) -> object:
    """Names from above: engines, which those import, are built on the modules of this folder."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'dropgnn.nn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
