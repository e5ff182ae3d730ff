"""A molecule from its SMILES alone: hydrogens and coordinates made by RDKit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dropgnn.data.qm9.molecules import ELEMENTS, Molecule, molecule_of
from dropgnn.errors import DataProblem, MissingExtra, of_kind

if TYPE_CHECKING:
    from rdkit.Chem import Mol
    from rdkit.Chem.rdDistGeom import EmbedParameters

LONGEST, LARGEST = 1_000, 100
"""Characters in a SMILES and atoms in a molecule, hydrogens included, that are tried."""

SMALLEST_KNOWN, LARGEST_KNOWN = 3, 29
"""Atoms in the smallest and the largest molecules of QM9."""

SEED, ATTEMPTS, SECONDS = 7, 20, 30
"""Of the embedding: it is the same every time, and it ends."""


class FromSmiles(NamedTuple):
    """A molecule, and what makes it unlike those of QM9."""

    molecule: Molecule
    remarks: tuple[str, ...]


def molecule_from_smiles(smiles: str) -> FromSmiles:
    """The molecule in a geometry that RDKit embeds and relaxes, the same every time.

    Raises:
        DataProblem: For a text that is no molecule, or one that a model of QM9 can say nothing about.
    """
    try:
        from rdkit import rdBase
    except ImportError as missing:
        raise MissingExtra("RDKit", "chem") from missing
    smiles = of_kind("smiles", smiles, str).strip()
    if not smiles:
        raise DataProblem("no SMILES")
    if len(smiles.split()) > 1:  # RDKit would read the first word
        raise DataProblem("blanks or line breaks inside a SMILES")
    if len(smiles) > LONGEST:
        raise DataProblem(f"a SMILES of {len(smiles):,} characters; at most {LONGEST:,} are read")
    foreign = [mark for mark in smiles if not ("!" <= mark <= "~")]
    if foreign:  # RDKit would leave out those at the end
        raise DataProblem(f"{foreign[0]!a} is no character of a SMILES")
    try:
        with rdBase.BlockLogs():
            return _made(smiles)
    except KeyError as strange:
        kind = getattr(strange.args[0], "name", strange.args[0]).lower()
        raise DataProblem(f"a bond of kind {kind}; QM9 has single, double, triple and aromatic ones") from strange
    except (RuntimeError, ValueError) as problem:
        if isinstance(problem, DataProblem):
            raise
        raise DataProblem(f"RDKit cannot deal with it ({str(problem).splitlines()[0][:80]!r})") from problem


def _made(smiles: str) -> FromSmiles:
    from rdkit import Chem

    plain = Chem.MolFromSmiles(smiles)
    if plain is None or plain.GetNumAtoms() == 0:
        raise DataProblem("not a valid SMILES")
    strange = sorted({atom.GetSymbol() for atom in plain.GetAtoms() if atom.GetAtomicNum() not in ELEMENTS})
    if strange:
        raise DataProblem(f"has {', '.join(strange)}; QM9 knows H, C, N, O and F")
    if len(Chem.GetMolFrags(plain)) > 1:
        raise DataProblem("more than one molecule (a salt or a mixture); QM9 has single ones")
    remarks = ["isotopes make no difference"] if any(atom.GetIsotope() for atom in plain.GetAtoms()) else []
    mol = Chem.AddHs(_in_one_order(plain))
    atoms = mol.GetNumAtoms()
    if atoms > LARGEST:
        raise DataProblem(f"{atoms} atoms with hydrogens; at most {LARGEST} are predicted")
    if atoms > LARGEST_KNOWN:
        remarks.append(f"{atoms} atoms; QM9 goes up to {LARGEST_KNOWN}")
    if atoms < SMALLEST_KNOWN:
        remarks.append(f"{atoms} atom(s); QM9 begins at {SMALLEST_KNOWN}")
    if Chem.GetFormalCharge(mol):
        remarks.append("charged; QM9 has neutral molecules")
    if any(atom.GetNumRadicalElectrons() for atom in mol.GetAtoms()):
        remarks.append("a radical; QM9 has none")
    if any(one.specified == Chem.StereoSpecified.Unspecified for one in Chem.FindPotentialStereo(mol)):
        remarks.append("which stereoisomer is not said; RDKit chose one")
    remarks += _embed(mol)
    return FromSmiles(molecule_of(mol, np.asarray(mol.GetConformer().GetPositions())), tuple(remarks))


def _in_one_order(mol: Mol) -> Mol:
    """The same molecule with its atoms in one order, however it was spelled; what decides it, but says nothing, is left out."""
    from rdkit import Chem

    for atom in mol.GetAtoms():
        atom.SetIsotope(0)
        atom.SetAtomMapNum(0)
    again = Chem.MolFromSmiles(Chem.MolToSmiles(Chem.RemoveHs(mol)))
    return mol if again is None else again


def _embed(mol: Mol) -> list[str]:
    """Give the atoms places by distance geometry, and let a force field relax them; what must be said about that."""
    from rdkit.Chem import rdDistGeom, rdForceFieldHelpers

    def succeeds(way: EmbedParameters) -> bool:
        return rdDistGeom.EmbedMolecule(mol, way) >= 0

    remarks, (usual, *others) = [], _ways_to_embed()
    if not succeeds(usual):
        if not any(map(succeeds, others)):
            raise DataProblem("RDKit finds no geometry for it")
        remarks.append("its geometry was found without the usual rules")  # which strained cages break
    if mol.GetNumAtoms() == 1:
        return remarks
    if not rdForceFieldHelpers.MMFFHasAllMoleculeParams(mol) or rdForceFieldHelpers.MMFFOptimizeMolecule(mol) != 0:
        remarks.append("its geometry is not relaxed")
    return remarks


def _ways_to_embed() -> list[EmbedParameters]:
    """The usual way, one that begins anywhere, and one that knows nothing about torsions and rings."""
    from rdkit.Chem import rdDistGeom

    ways: list[Any] = [rdDistGeom.ETKDGv3() for _ in range(3)]
    for parameters in ways:
        parameters.randomSeed, parameters.maxIterations = SEED, ATTEMPTS
        if hasattr(parameters, "timeout"):
            parameters.timeout = SECONDS
    ways[1].useRandomCoords = ways[2].useRandomCoords = True
    ways[2].useExpTorsionAnglePrefs = ways[2].useBasicKnowledge = False
    return ways
