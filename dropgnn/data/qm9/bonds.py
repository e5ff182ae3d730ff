"""Which atoms of a measured geometry are which atoms of a SMILES, and so which bonds they have.

The files have a SMILES and the coordinates of all atoms, hydrogens too, but not the bonds between them. For nearly all
molecules the atoms of the SMILES, hydrogens behind, come in the order of the coordinates; that is believed where all its bonds
are short, and all very short distances are bonds. For the others the short distances are bonds, and the SMILES is laid over them
in any way that fits. Where none does, the molecule has rearranged, and is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rdkit.Chem import Mol

BOND, SURE, POSSIBLE = 1.15, 1.10, 1.30
"""Distances, over the sum of the covalent radii, up to which there is a bond; up to which there must be one; and up to
which there may be one, as between N and O in strained rings."""


def with_bonds(smiles: str, elements: list[str], position: np.ndarray) -> Mol | None:
    """The molecule with its atoms in the order of the coordinates, or ``None`` where SMILES and coordinates disagree."""
    from rdkit import Chem

    plain = Chem.MolFromSmiles(smiles)
    if plain is None:
        return None
    mol = Chem.AddHs(plain)
    if [atom.GetSymbol() for atom in mol.GetAtoms()] == elements:
        sure, possible = (close_atoms(elements, position, most) for most in (SURE, POSSIBLE))
        if sure <= bonded_pairs(mol) <= possible:
            return mol
    tried = (_laid_over(mol, elements, position, most) for most in (BOND, POSSIBLE))
    return next((found for found in tried if found is not None), None)


def bonded_pairs(mol: Mol) -> set[tuple[int, int]]:
    pairs = ((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in mol.GetBonds())
    return {(min(pair), max(pair)) for pair in pairs}


def close_atoms(elements: list[str], position: np.ndarray, most: float) -> set[tuple[int, int]]:
    """Pairs of atoms whose distance is at most so many times the sum of their covalent radii."""
    from rdkit.Chem import GetPeriodicTable

    table = GetPeriodicTable()
    radius = np.array([table.GetRcovalent(element) for element in elements])
    distance = np.linalg.norm(position[:, None] - position[None], axis=-1)
    close = np.triu(distance <= most * (radius[:, None] + radius[None]), 1)
    return {(int(one), int(other)) for one, other in zip(*np.nonzero(close), strict=True)}


def _laid_over(mol: Mol, elements: list[str], position: np.ndarray, most: float) -> Mol | None:
    """The molecule renumbered so that its bonds are those that RDKit finds between the coordinates."""
    from rdkit import Chem
    from rdkit.Chem import rdDetermineBonds
    from rdkit.Geometry import Point3D

    if len(elements) != mol.GetNumAtoms():
        return None
    bare, conformer = Chem.RWMol(), Chem.Conformer(len(elements))
    for number, (element, place) in enumerate(zip(elements, position.tolist(), strict=True)):
        bare.AddAtom(Chem.Atom(element))
        conformer.SetAtomPosition(number, Point3D(*place))
    bare.AddConformer(conformer)
    rdDetermineBonds.DetermineConnectivity(bare, useVdw=True, covFactor=most)
    if bare.GetNumBonds() != mol.GetNumBonds():
        return None
    order = _skeleton(mol).GetSubstructMatch(_skeleton(bare))  # for every measured atom its number in the SMILES
    return Chem.RenumberAtoms(mol, list(order)) if order else None


def _skeleton(mol: Mol) -> Mol:
    """Elements and connections alone: orders of bonds, charges and aromaticity taken away."""
    from rdkit import Chem

    bare = Chem.RWMol()
    for atom in mol.GetAtoms():
        number = bare.AddAtom(Chem.Atom(atom.GetAtomicNum()))
        bare.GetAtomWithIdx(number).SetNoImplicit(True)
    for bond in mol.GetBonds():
        bare.AddBond(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), Chem.BondType.SINGLE)
    return bare.GetMol()
