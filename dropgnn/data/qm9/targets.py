"""The twelve properties, in the paper's units."""

from __future__ import annotations

from typing import NamedTuple

from dropgnn.registry import Registry


class Target(NamedTuple):
    """A property of a molecule.

    Args:
        title: What to call it.
        unit: In which the paper prints its error, and we everything.
        column: Its name in the files of ``qm9pack``.
    """

    title: str
    unit: str
    column: str


TARGETS = Registry[Target](
    "target",
    {
        "mu": Target("dipole moment", "Debye", "Dipole_debye"),
        "alpha": Target("polarizability", "Bohr^3", "Polarizability_bohr3"),
        "homo": Target("HOMO energy", "Hartree", "HOMO_au"),
        "lumo": Target("LUMO energy", "Hartree", "LUMO_au"),
        "gap": Target("HOMO-LUMO gap", "Hartree", "HOMO_LUMO_gap_au"),
        "r2": Target("electronic spatial extent", "Bohr^2", "R2_bohr2"),
        "zpve": Target("zero point vibrational energy", "Hartree", "ZPVE_au"),
        "u0": Target("internal energy at 0 K", "Hartree", "InternalEnergy_0K_au"),
        "u": Target("internal energy at 298 K", "Hartree", "InternalEnergy_298K_au"),
        "h": Target("enthalpy at 298 K", "Hartree", "Enthalphy_298K_au"),  # so spelled in the files
        "g": Target("free energy at 298 K", "Hartree", "GibbsFreeEnergy_298K_au"),
        "cv": Target("heat capacity at 298 K", "cal/(mol K)", "Heatcapacity_Cv_cal_mol_K"),
    },
)
