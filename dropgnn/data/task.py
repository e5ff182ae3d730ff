"""What a task is: graphs with features and labels, and how the paper sets its p and r for them."""

from __future__ import annotations

from dataclasses import dataclass

from torch_geometric.data import Batch, Data


@dataclass(frozen=True, eq=False)
class Task:
    """A dataset to learn.

    Args:
        name: Its name in this package.
        level: What is labelled, ``"node"`` or ``"graph"``.
        num_classes: The number of labels.
        graphs: Graphs with ``x``, ``edge_index``, ``edge_attr`` (port numbers) and ``y``.
        m: "The mean number of nodes in the graphs", from which the paper takes p and r: as its table of datasets counts them,
            which takes the two structures of a Limits task for one graph.
        layers: Layers of the paper's GIN for this task.
        hidden: Width of the paper's GIN for this task.
    """

    name: str
    level: str
    num_classes: int
    graphs: tuple[Data, ...]
    m: int
    layers: int = 4
    hidden: int = 16

    @property
    def num_features(self) -> int:
        return self.graphs[0].num_node_features

    @property
    def nodes_per_graph(self) -> int:
        """The mean number of nodes in the graphs as the published code counts them: 8 for the Limits tasks."""
        return round(sum(graph.num_nodes for graph in self.graphs) / len(self.graphs))

    @property
    def counted_together(self) -> bool:
        """Whether the paper takes all graphs for one: the two structures of a Limits task."""
        return self.m > max(graph.num_nodes for graph in self.graphs)

    def batch(self) -> Batch:
        """All graphs as one batch, which is how the synthetic tasks are trained."""
        return Batch.from_data_list(list(self.graphs))

    def __repr__(self) -> str:
        return f"Task({self.name!r}, {len(self.graphs)} graphs)"
