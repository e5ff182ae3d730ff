"""Molecules as arrays laid end to end, and batches of graphs made from them when they are wanted.

Two kinds of graphs. ``"bonds"``: an edge per bond and direction, for the 1-GNN. ``"complete"``: an edge between any two atoms,
for the MPNN. Either way an edge has 5 features, the kind of bond (one-hot, zeros without a bond) and the distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from dropgnn.data.qm9.molecules import BOND_TYPES, Molecule
from dropgnn.data.qm9.targets import TARGETS
from dropgnn.errors import one_of
from dropgnn.graph import enumerate_blocks, numbers_of, offsets

GRAPHS = ("bonds", "complete")
CHEMISTRY = ("sanitized", "pyg")


@dataclass(frozen=True, eq=False)
class Arrays:
    """Molecules with their properties.

    Shapes:
        x ``[N, 11]``, position ``[N, 3]``; bonds ``[B, 2]``, kinds, kekule ``[B]``; atoms, many_bonds ``[G]``; properties
        ``[G, 12]``, in the order of ``TARGETS``.
    """

    x: np.ndarray
    bonds: np.ndarray
    kinds: np.ndarray
    kekule: np.ndarray
    position: np.ndarray
    atoms: np.ndarray
    many_bonds: np.ndarray
    properties: np.ndarray

    @staticmethod
    def of(molecules: Sequence[Molecule], properties: np.ndarray | None = None) -> Arrays:
        """Lay molecules end to end; without properties they are unknown."""
        rows = {name: np.concatenate([getattr(one, name) for one in molecules]) for name in Molecule._fields}
        return Arrays(
            **rows,
            atoms=np.array([len(one.x) for one in molecules], np.int32),
            many_bonds=np.array([len(one.bonds) for one in molecules], np.int32),
            properties=np.full((len(molecules), len(TARGETS)), np.nan) if properties is None else properties,
        )

    def __len__(self) -> int:
        return len(self.atoms)

    def target(self, name: str) -> np.ndarray:
        """One property of all molecules, ``[G]``."""
        TARGETS[name]
        return np.asarray(self.properties[:, list(TARGETS).index(name)])

    def graphs(self, kind: str, *, scaled: bool = False, chemistry: str = "sanitized") -> MoleculeGraphs:
        """The molecules as graphs; see :class:`MoleculeGraphs`."""
        return MoleculeGraphs(self, kind, scaled=scaled, chemistry=chemistry)


class MoleculeGraphs:
    """Batches of molecules.

    Args:
        arrays: The molecules.
        kind: ``"bonds"`` or ``"complete"``.
        scaled: Whether distances are divided by the largest of their molecule, as for the 1-GNN.
        chemistry: ``"sanitized"``: aromaticity and hybridisation as RDKit finds them. ``"pyg"``: as in PyG's QM9, which leaves
            molecules unsanitised: these features are zero, and no bond is aromatic.
    """

    def __init__(self, arrays: Arrays, kind: str, *, scaled: bool, chemistry: str) -> None:
        one_of("kind", kind, GRAPHS)
        one_of("chemistry", chemistry, CHEMISTRY)
        self.arrays, self.kind, self.scaled, self.chemistry = arrays, kind, scaled, chemistry
        self._atoms, self._bonds = (
            torch.from_numpy(many.astype(np.int64)) for many in (arrays.atoms, arrays.many_bonds)
        )
        self._first_atom, self._first_bond = offsets(self._atoms), offsets(self._bonds)
        self._kinds = arrays.kinds if chemistry == "sanitized" else arrays.kekule

    def __len__(self) -> int:
        return len(self.arrays)

    def batch(self, chosen: Sequence[int] | Tensor) -> Data:
        """These molecules as one batch, in this order, with all properties as ``y``, ``[G, 12]``; numbers are of torch's
        default type, properties of float64."""
        chosen = numbers_of(chosen, len(self))
        atoms = self._atoms[chosen]
        atom, of_atom = enumerate_blocks(self._first_atom[chosen], atoms)
        x = torch.from_numpy(self.arrays.x[atom.numpy()].astype(np.float32)).to(torch.get_default_dtype())
        if self.chemistry == "pyg":
            x[:, 6:10] = 0.0
        position = torch.from_numpy(self.arrays.position[atom.numpy()]).to(torch.get_default_dtype())
        edge_index, kinds, of_edge = self._edges(chosen, atoms)
        distance = (position[edge_index[0]] - position[edge_index[1]]).norm(dim=1)
        if self.scaled:
            largest = distance.new_zeros(chosen.numel()).scatter_reduce(0, of_edge, distance, "amax")
            distance = distance / largest[of_edge]
        return Data(
            x=x,
            edge_index=edge_index,
            edge_attr=torch.cat([kinds, distance.unsqueeze(1)], dim=1),
            y=torch.from_numpy(self.arrays.properties[chosen.numpy()]),
            position=position,
            batch=of_atom,
            num_nodes=atom.numel(),
            num_graphs=chosen.numel(),
        )

    def _edges(self, chosen: Tensor, atoms: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Both directions of every edge, its kind of bond, one-hot, and its molecule."""
        bond, of_bond = enumerate_blocks(self._first_bond[chosen], self._bonds[chosen])
        ends = torch.from_numpy(self.arrays.bonds[bond.numpy()].astype(np.int64)).t()
        kinds = torch.from_numpy(self._kinds[bond.numpy()].astype(np.int64))
        kinds = torch.nn.functional.one_hot(kinds, len(BOND_TYPES)).to(torch.get_default_dtype())
        both = torch.cat([ends, ends.flip(0)], dim=1)
        if self.kind == "bonds":
            of_edge = of_bond.repeat(2)
            return both + offsets(atoms)[of_edge], kinds.repeat(2, 1), of_edge
        # The edge from atom i to atom j of a molecule of n atoms is number i (n - 1) + j, less one where j > i.
        number, of_edge = enumerate_blocks(torch.zeros_like(atoms), atoms * (atoms - 1))
        others = (atoms - 1)[of_edge]
        sender = torch.div(number, others, rounding_mode="floor")
        receiver = number - sender * others
        receiver = receiver + (receiver >= sender)
        edge_index = torch.stack([sender, receiver]) + offsets(atoms)[of_edge]
        found = torch.zeros(number.numel(), len(BOND_TYPES))
        of_both = of_bond.repeat(2)
        place = (
            offsets(atoms * (atoms - 1))[of_both]
            + both[0] * (atoms - 1)[of_both]
            + both[1]
            - (both[1] > both[0]).long()
        )
        found[place] = kinds.repeat(2, 1)
        return edge_index, found, of_edge
