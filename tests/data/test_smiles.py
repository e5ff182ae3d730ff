"""Molecules out of SMILES."""

from __future__ import annotations

import pytest

from dropgnn.data.qm9.smiles import molecule_from_smiles
from dropgnn.errors import DataProblem

CAGE = "CC1N=C2CC3(C)C1N23"


@pytest.mark.parametrize("smiles", ["O O", "CCO ethanol", "C\tO", "C\nwater"])
def test_nothing_behind_a_blank_is_lost(smiles: str) -> None:
    """RDKit would read the first word and leave the rest."""
    with pytest.raises(DataProblem, match="blanks or line breaks inside a SMILES"):
        molecule_from_smiles(smiles)


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
