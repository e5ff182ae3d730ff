"""Sizes and elements of training molecules, by the definition, and what lies outside of them."""

from __future__ import annotations

import numpy as np
import pytest

from dropgnn.data.qm9.dataset import QM9
from dropgnn.data.qm9.smiles import molecule_from_smiles
from dropgnn.errors import InvalidArgument
from dropgnn.molecules.seen import SYMBOLS, Seen


def test_sizes_and_elements_are_counted_molecule_by_molecule(few: QM9) -> None:
    chosen = np.array([0, 7, 33, 90, len(few) - 1])
    ends = np.cumsum(few.atoms)
    molecules = [few.x[ends[number] - few.atoms[number] : ends[number]] for number in chosen]
    sizes, heavy = [len(x) for x in molecules], [int((x[:, 0] == 0).sum()) for x in molecules]
    elements = {SYMBOLS[int(row[:5].argmax())] for x in molecules for row in x}
    found = Seen.of(few, chosen)
    assert found.atoms == (min(sizes), max(sizes))
    assert found.heavy_atoms == (min(heavy), max(heavy))
    assert set(found.elements) == elements


def test_what_lies_outside() -> None:
    seen = Seen((3, 29), (2, 9), ("H", "C", "O"))
    for smiles, outside in (
        ("CCO", []),
        ("O", ["1 atoms other than hydrogen; trained on 2 to 9"]),
        ("CCN", ["has N; trained on H, C, O"]),
        ("c1ccccc1-c1ccccc1", ["12 atoms other than hydrogen; trained on 2 to 9"]),
        (
            "CCCCCCCCCCCC",
            ["38 atoms; trained on 3 to 29", "12 atoms other than hydrogen; trained on 2 to 9"],
        ),
    ):
        assert seen.outside(molecule_from_smiles(smiles).molecule) == outside, smiles


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"atoms": (9, 3)}, "'atoms' must be the fewest and the most"),
        ({"heavy_atoms": (-1, 3)}, "'heavy_atoms' must be a whole number of at least 0"),
        ({"elements": ("H", "Xx")}, "'elements' must be one of H, C, N, O, F"),
    ],
)
def test_facts_that_cannot_be(facts: dict[str, tuple], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        Seen(**{"atoms": (3, 29), "heavy_atoms": (1, 9), "elements": ("H", "C")} | facts)
