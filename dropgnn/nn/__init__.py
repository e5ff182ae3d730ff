"""The model around any GNN, and the pieces it is made of."""

from dropgnn.engine.norm import WeightedBatchNorm
from dropgnn.nn.aggregate import AGGREGATORS, Aggregator, Max, Mean, Sum, TransformSum
from dropgnn.nn.encoder import Encoder
from dropgnn.nn.gin import GIN, GINE
from dropgnn.nn.heads import LayerReadout, Pooled, Set2SetReadout
from dropgnn.nn.model import DropGNN
from dropgnn.nn.mpnn import MPNN
from dropgnn.nn.one_gnn import OneGNN
from dropgnn.nn.outcome import Outcome
from dropgnn.nn.sharing import SharingReport, share_layer

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
