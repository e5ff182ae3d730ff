"""The graphs that are measured on."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import torch
from rdkit import Chem
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


def zinc(data: Path, number: int = 512) -> list[Data]:
    """Molecules of ZINC's test part: 28 types of atoms at most, three types of bonds."""
    with (data / "zinc" / "test.csv").open(encoding="utf-8", newline="") as file:
        smiles = [row["smiles"] for row in csv.DictReader(file)][:number]
    molecules = [Chem.MolFromSmiles(text) for text in smiles]
    for molecule in molecules:
        Chem.Kekulize(molecule, clearAromaticFlags=True)
    names = [
        [(atom.GetSymbol(), atom.GetFormalCharge(), atom.GetNumExplicitHs()) for atom in mol.GetAtoms()]
        for mol in molecules
    ]
    known = {name: place for place, name in enumerate(sorted({name for each in names for name in each}))}
    found = []
    for molecule, each in zip(molecules, names, strict=True):
        ends = torch.tensor([[bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()] for bond in molecule.GetBonds()]).t()
        kind = torch.tensor([int(bond.GetBondTypeAsDouble()) - 1 for bond in molecule.GetBonds()])
        found.append(
            Data(
                x=torch.eye(len(known))[[known[name] for name in each]],
                edge_index=torch.cat([ends, ends.flip(0)], dim=1),
                edge_attr=torch.eye(3)[torch.cat([kind, kind])],
                y=torch.zeros(1, 1),
                num_nodes=len(each),
            )
        )
    return found


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
