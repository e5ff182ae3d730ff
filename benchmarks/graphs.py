"""The graphs that are measured on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data

from dropgnn.data.datasets import load_dataset
from dropgnn.data.synthetic import task


def cubic(nodes: int) -> Data:
    """A random 3-regular graph. Loops and repeated edges, which are few, are kept: rejecting them takes long."""
    rng = np.random.default_rng(nodes)
    ends = rng.permutation(np.repeat(np.arange(nodes), 3)).reshape(-1, 2).T
    edges = torch.from_numpy(np.concatenate([ends, ends[::-1]], axis=1))
    return Data(x=torch.ones(nodes, 1), edge_index=edges, num_nodes=nodes)


def skip_circles() -> list[Data]:
    graphs = list(task("skip_circles", 0).graphs)
    for graph in graphs:
        graph.edge_attr = None
    return graphs


def tu(name: str, data: Path) -> list[Data]:
    """A dataset of the paper, as it treats it."""
    return list(load_dataset(name, data=data, download=False).graphs)


def molecules(number: int, *, complete: bool, atoms: int = 18) -> list[Data]:
    """Graphs the size of a molecule of QM9: 11 features per atom; bond types and the distance, equal in both directions.

    Complete graphs, or a ring with two bonds across.
    """
    source, ring = torch.Generator().manual_seed(0), torch.arange(atoms)
    one, other = torch.triu_indices(atoms, atoms, 1)
    if not complete:
        one, other = torch.cat([ring, ring[[0, 3]]]), torch.cat([ring.roll(-1), ring[[9, 12]]])
    found = []
    for _ in range(number):
        place = 4.0 * torch.rand(atoms, 3, generator=source)
        kind = torch.eye(4)[torch.randint(4, one.shape, generator=source)]
        attr = torch.cat([kind, (place[one] - place[other]).norm(dim=1, keepdim=True)], dim=1)
        found.append(
            Data(
                x=torch.randint(3, (atoms, 11), generator=source).float(),
                edge_index=torch.stack([torch.cat([one, other]), torch.cat([other, one])]),
                edge_attr=torch.cat([attr, attr]),
                y=torch.randn(1, 1, generator=source),
                num_nodes=atoms,
            )
        )
    return found
