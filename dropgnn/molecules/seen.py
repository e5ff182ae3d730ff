"""Which molecules a model was trained on: their sizes and elements, and what lies outside of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dropgnn.data.qm9.arrays import Arrays
from dropgnn.data.qm9.molecules import ATOM_FEATURES, ELEMENTS, Molecule
from dropgnn.errors import InvalidArgument, one_of, whole_number

SYMBOLS = ATOM_FEATURES[: len(ELEMENTS)]


@dataclass(frozen=True)
class Seen:
    """The molecules of a training part.

    Args:
        atoms: The fewest and the most atoms of a molecule.
        heavy_atoms: The same without hydrogens.
        elements: Symbols of all elements, in the order of ``SYMBOLS``.
    """

    atoms: tuple[int, int]
    heavy_atoms: tuple[int, int]
    elements: tuple[str, ...]

    def __post_init__(self) -> None:
        for name in ("atoms", "heavy_atoms"):
            fewest, most = getattr(self, name)
            if whole_number(name, fewest, least=0) > whole_number(name, most, least=0):
                raise InvalidArgument(name, "must be the fewest and the most", got=(fewest, most))
        for symbol in self.elements:
            one_of("elements", symbol, SYMBOLS)

    @staticmethod
    def of(arrays: Arrays, chosen: np.ndarray) -> Seen:
        """Those of ``arrays`` with the numbers ``chosen``."""
        atoms = np.asarray(arrays.atoms, np.int64)
        mine = np.zeros(len(atoms), np.bool_)
        mine[chosen] = True
        elements = np.asarray(arrays.x[:, : len(SYMBOLS)])
        hydrogens = np.add.reduceat(elements[:, 0], np.cumsum(atoms) - atoms, dtype=np.int64)
        return Seen(_range(atoms[mine]), _range((atoms - hydrogens)[mine]), _elements(elements[np.repeat(mine, atoms)]))

    @staticmethod
    def read(facts: Mapping[str, Any]) -> Seen:
        """As JSON has it, with lists for tuples."""
        return Seen(**{name: tuple(value) for name, value in facts.items()})

    def __str__(self) -> str:
        """
        >>> print(Seen((3, 29), (1, 9), ("H", "C", "O")))
        3 to 29 atoms, 1 to 9 other than hydrogen, of H, C, O
        """
        (fewest, most), (lightest, heaviest) = self.atoms, self.heavy_atoms
        elements = ", ".join(self.elements)
        return f"{fewest} to {most} atoms, {lightest} to {heaviest} other than hydrogen, of {elements}"

    def outside(self, molecule: Molecule) -> list[str]:
        """What of a molecule lies outside."""
        heavy = len(molecule.x) - int(molecule.x[:, 0].sum())
        found = []
        for what, number, (fewest, most) in (
            ("atoms", len(molecule.x), self.atoms),
            ("atoms other than hydrogen", heavy, self.heavy_atoms),
        ):
            if not fewest <= number <= most:
                found.append(f"{number} {what}; trained on {fewest} to {most}")
        strange = [symbol for symbol in _elements(molecule.x) if symbol not in self.elements]
        return found + ([f"has {', '.join(strange)}; trained on {', '.join(self.elements)}"] if strange else [])


def _elements(x: np.ndarray) -> tuple[str, ...]:
    """The elements that occur, from the one-hot columns of atoms."""
    return tuple(symbol for number, symbol in enumerate(SYMBOLS) if x[:, number].any())


def _range(values: np.ndarray) -> tuple[int, int]:
    return int(values.min()), int(values.max())
