"""Whether arrays of molecules fit together, looked at before anything is computed with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from dropgnn.data.qm9.molecules import ATOM_FEATURES, BOND_TYPES
from dropgnn.data.qm9.targets import TARGETS

LARGEST_MOLECULE = 255
"""Atoms that a byte can number, as bonds do."""

LAYOUT: dict[str, tuple[type, tuple[int, ...], str]] = {
    "x": (np.uint8, (len(ATOM_FEATURES),), "atom"),
    "position": (np.float32, (3,), "atom"),
    "bonds": (np.uint8, (2,), "bond"),
    "kinds": (np.uint8, (), "bond"),
    "kekule": (np.uint8, (), "bond"),
    "atoms": (np.int32, (), "molecule"),
    "many_bonds": (np.int32, (), "molecule"),
    "number": (np.int32, (), "molecule"),
    "properties": (np.float64, (len(TARGETS),), "molecule"),
}
"""Type of every array, shape of a row, and what there is a row for."""


def problem_of(arrays: Mapping[str, np.ndarray]) -> str | None:
    """What is wrong with them, if anything."""
    return next(_problems(arrays), None)


def _problems(arrays: Mapping[str, np.ndarray]) -> Iterator[str]:
    for name, (dtype, row, _) in LAYOUT.items():
        array = arrays[name]
        if array.dtype != dtype or array.ndim != 1 + len(row) or array.shape[1:] != row:
            wanted = f"{np.dtype(dtype)} of shape {('rows', *row)}".replace("'", "")
            yield f"{name} must be {wanted}, is {array.dtype} of shape {array.shape}"
    atoms, many_bonds = arrays["atoms"], arrays["many_bonds"]
    if not len(atoms):
        yield "there is no molecule"
    if len(many_bonds) != len(atoms):
        yield f"many_bonds has {len(many_bonds):,} rows for {len(atoms):,} molecules"
    if atoms.min() < 1 or atoms.max() > LARGEST_MOLECULE or many_bonds.min() < 0:
        yield f"a molecule has 1 to {LARGEST_MOLECULE} atoms, and no fewer than 0 bonds"
    rows = {"atom": int(atoms.sum(dtype=np.int64)), "bond": int(many_bonds.sum(dtype=np.int64)), "molecule": len(atoms)}
    for name, (_, _, of) in LAYOUT.items():
        if len(arrays[name]) != rows[of]:
            yield f"{name} has {len(arrays[name]):,} rows for {rows[of]:,} {of}s"
    ends = arrays["bonds"]
    if (ends >= np.repeat(atoms, many_bonds)[:, None]).any() or (ends[:, 0] == ends[:, 1]).any():
        yield "a bond has an end that is no other atom of its molecule"
    if any((arrays[name] >= len(BOND_TYPES)).any() for name in ("kinds", "kekule")):
        yield f"a kind of bond is not one of the {len(BOND_TYPES)}"
    if not all(np.isfinite(arrays[name]).all() for name in ("position", "properties")):
        yield "a position or a property is not a finite number"
