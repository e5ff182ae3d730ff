"""A molecule from its SMILES alone: hydrogens and coordinates made by RDKit."""

from __future__ import annotations

import numpy as np

from dropgnn.data.qm9.molecules import ELEMENTS, Molecule, molecule_of
from dropgnn.errors import DataProblem, MissingExtra

LONGEST, LARGEST = 1_000, 100
"""Characters in a SMILES and atoms in a molecule, hydrogens included; QM9 goes up to 29 atoms."""

SEED, ATTEMPTS = 7, 20


def molecule_from_smiles(smiles: str) -> Molecule:
    """The molecule in a geometry that RDKit embeds and relaxes, the same every time.

    Raises:
        DataProblem: For a text that is no molecule, or one that a model of QM9 can say nothing about.
    """
    try:
        from rdkit import Chem, rdBase
    except ImportError as missing:
        raise MissingExtra("RDKit", "chem") from missing
    if not smiles.strip():
        raise DataProblem("no SMILES")
    if len(smiles) > LONGEST:
        raise DataProblem(f"a SMILES of {len(smiles):,} characters; at most {LONGEST:,} are read")
    with rdBase.BlockLogs():
        plain = Chem.MolFromSmiles(smiles.strip())
        if plain is None or plain.GetNumAtoms() == 0:
            raise DataProblem("not a valid SMILES")
        _check_elements(plain)
        if len(Chem.GetMolFrags(plain)) > 1:
            raise DataProblem("more than one molecule (a salt or a mixture); QM9 has single ones")
        mol = Chem.AddHs(plain)
        if mol.GetNumAtoms() > LARGEST:
            raise DataProblem(f"{mol.GetNumAtoms()} atoms with hydrogens; at most {LARGEST} are predicted")
        try:
            return molecule_of(mol, _coordinates(mol))
        except KeyError as strange:
            raise DataProblem(
                f"a bond of kind {strange}; QM9 has single, double, triple and aromatic ones"
            ) from strange


def _check_elements(mol: object) -> None:
    strange = sorted({a.GetSymbol() for a in mol.GetAtoms() if a.GetAtomicNum() not in ELEMENTS})  # type: ignore[attr-defined]
    if strange:
        raise DataProblem(f"has {', '.join(strange)}; QM9 knows H, C, N, O and F")


def _coordinates(mol: object) -> np.ndarray:
    """Atoms in space, ``[n, 3]``: distance geometry, then a force field where it knows the molecule."""
    from rdkit.Chem import rdDistGeom, rdForceFieldHelpers

    parameters = rdDistGeom.ETKDGv3()
    parameters.randomSeed = SEED  # type: ignore[assignment]  # its stubs are wrong
    parameters.maxIterations = ATTEMPTS  # type: ignore[assignment]
    if rdDistGeom.EmbedMolecule(mol, parameters) < 0:
        raise DataProblem("RDKit finds no geometry for it")
    if rdForceFieldHelpers.MMFFHasAllMoleculeParams(mol):
        rdForceFieldHelpers.MMFFOptimizeMolecule(mol)
    return mol.GetConformer().GetPositions()  # type: ignore[attr-defined]
