"""DropGNN: random or exact dropouts make a graph neural network more expressive."""

from dropgnn.errors import DropGNNError, InvalidArgument, Unsupported
from dropgnn.graph import Graph
from dropgnn.nn.gin import GIN, GINE
from dropgnn.nn.model import DropGNN
from dropgnn.runs.runs import Runs
from dropgnn.runs.samplers import Bernoulli, Exhaustive, Stratified
from dropgnn.theory.plan import RunPlan

__version__ = "0.1.0"

__all__ = [
    "GIN", "GINE", "Bernoulli", "DropGNN", "DropGNNError", "Exhaustive", "Graph", "InvalidArgument", "RunPlan", "Runs",
    "Stratified", "Unsupported",
]  # fmt: skip
