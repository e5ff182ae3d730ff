"""A molecule as a graph: RDKit's atoms and bonds in the features of PyG's QM9, 11 per atom and 4 per bond."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from rdkit.Chem import Mol

ELEMENTS = (1, 6, 7, 8, 9)
"""Atomic numbers that occur: H, C, N, O, F."""

ATOM_FEATURES = ("H", "C", "N", "O", "F", "atomic number", "aromatic", "sp", "sp2", "sp3", "hydrogens")
BOND_TYPES = ("single", "double", "triple", "aromatic")


class Molecule(NamedTuple):
    """A graph with a geometry.

    Shapes:
        x ``[n, 11]``; bonds ``[b, 2]``: each once, lower atom first; kinds, kekule ``[b]``: numbers in ``BOND_TYPES``, with
        aromatic bonds, and with single and double bonds in their place; position ``[n, 3]`` in Angstrom.
    """

    x: np.ndarray
    bonds: np.ndarray
    kinds: np.ndarray
    kekule: np.ndarray
    position: np.ndarray


def molecule_of(mol: Mol, position: np.ndarray) -> Molecule:
    """The graph of a molecule with its hydrogens; bonds are sorted by their atoms."""
    from rdkit import Chem

    mixed = {Chem.HybridizationType.SP: 7, Chem.HybridizationType.SP2: 8, Chem.HybridizationType.SP3: 9}
    atoms = list(mol.GetAtoms())
    x = np.zeros((len(atoms), len(ATOM_FEATURES)), np.uint8)
    for row, atom in zip(x, atoms, strict=True):
        row[ELEMENTS.index(atom.GetAtomicNum())] = 1
        row[5] = atom.GetAtomicNum()
        row[6] = atom.GetIsAromatic()
        if atom.GetHybridization() in mixed:
            row[mixed[atom.GetHybridization()]] = 1
        row[10] = sum(other.GetAtomicNum() == 1 for other in atom.GetNeighbors())
    flat = Chem.Mol(mol)
    Chem.Kekulize(flat, clearAromaticFlags=True)
    table, kekule = bonds_of(mol), bonds_of(flat)[:, 2]
    return Molecule(x, table[:, :2], table[:, 2], kekule, np.asarray(position, np.float32))


def bonds_of(mol: Mol) -> np.ndarray:
    """Lower atom, higher atom and kind of every bond, ``[b, 3]``."""
    from rdkit.Chem import BondType

    kinds = {BondType.SINGLE: 0, BondType.DOUBLE: 1, BondType.TRIPLE: 2, BondType.AROMATIC: 3}
    found = sorted(
        (*sorted((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx())), kinds[bond.GetBondType()]) for bond in mol.GetBonds()
    )
    return np.array(found, np.uint8).reshape(-1, 3)
