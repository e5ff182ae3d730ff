"""Molecules out of SMILES."""

from __future__ import annotations

import numpy as np
import pytest

from dropgnn.data.qm9.smiles import molecule_from_smiles
from dropgnn.errors import DataProblem

CAGE = "CC1N=C2CC3(C)C1N23"


@pytest.mark.parametrize("smiles", ["O O", "CCO ethanol", "C\tO", "C\nwater"])
def test_nothing_behind_a_blank_is_lost(smiles: str) -> None:
    """RDKit would read the first word and leave the rest."""
    with pytest.raises(DataProblem, match="blanks or line breaks inside a SMILES"):
        molecule_from_smiles(smiles)


@pytest.mark.parametrize("tail", ["\u041e", "\u200b", "\u2013", "\u201d", "\x01", "\u00e9", "\udce9"])
def test_nothing_that_looks_like_a_character_is_lost(tail: str) -> None:
    """A Cyrillic O makes no ethanol, and RDKit would take it for ethane."""
    with pytest.raises(DataProblem, match="is no character of a SMILES"):
        molecule_from_smiles(f"CC{tail}")


@pytest.mark.parametrize(
    ("spelled", "otherwise"),
    [
        ("[2H]O[2H]", "O"),
        ("[13CH3]CO", "CCO"),
        ("[CH3:3][CH2:2][OH:1]", "OCC"),
        ("C1=CC=CC=C1", "c1ccccc1"),
        ("[H]C([H])([H])O", "CO"),
    ],
)
def test_spelling_does_not_matter(spelled: str, otherwise: str) -> None:
    one, other = (molecule_from_smiles(smiles).molecule for smiles in (spelled, otherwise))
    assert all(np.array_equal(*pair) for pair in zip(one, other, strict=True))


@pytest.mark.parametrize(
    ("smiles", "said"),
    [
        ("CC(N)C(=O)O", True),
        ("C[C@H](N)C(=O)O", False),
        ("FC=CF", True),
        ("F/C=C/F", False),
        ("CC(C)O", False),
        ("C=C", False),
    ],
)
def test_a_stereoisomer_that_was_not_named_is_remarked(smiles: str, said: bool) -> None:
    assert ("which stereoisomer is not said; RDKit chose one" in molecule_from_smiles(smiles).remarks) == said


@pytest.mark.parametrize(
    ("smiles", "remark"),
    [
        ("[CH3]", "a radical"),
        ("[2H]O[2H]", "isotopes"),
        ("[H][H]", "2 atom(s); QM9 begins at 3"),
        ("[NH4+]", "charged"),
    ],
)
def test_what_is_unlike_qm9_is_said(smiles: str, remark: str) -> None:
    assert any(said.startswith(remark) for said in molecule_from_smiles(smiles).remarks)


def test_a_strained_cage_has_a_geometry() -> None:
    """One of QM9's own, for which the usual embedding finds none."""
    assert "its geometry was found without the usual rules" in molecule_from_smiles(CAGE).remarks
