"""What every study computes is what it was: short trainings, names and shapes of weights, outputs in every mode, plans."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from tests.pins.trainings import HERE, everything

PINNED: dict[str, Any] = json.loads(HERE.read_text(encoding="utf-8"))

DRAW = ("torch", "torch_geometric", "numpy")
"""Packages of which another version may initialise weights, or draw, in another order."""


def made_with() -> dict[str, str]:
    """The versions that the numbers were made with."""
    lines = (Path(__file__).parents[2] / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.replace("-", "_").split("==") for line in lines if "==" in line)
    return {name: pins[name] for name in DRAW}


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return everything()


def differences(pinned: Any, now: Any, where: str = "") -> list[str]:
    """Where two values are not the same, up to the rounding of double precision."""
    if isinstance(pinned, dict):
        same = pinned.keys() == now.keys()
        return [f"{where}: {pinned.keys() ^ now.keys()}"] * (not same) + [
            line for name in pinned if same for line in differences(pinned[name], now[name], f"{where}, {name}")
        ]
    if isinstance(pinned, list):
        if len(pinned) != len(now):
            return [f"{where}: {len(pinned)} and {len(now)} entries"]
        return [line for one, other in zip(pinned, now, strict=True) for line in differences(one, other, where)]
    same = now == (pytest.approx(pinned, rel=1e-8, abs=1e-10) if isinstance(pinned, float) else pinned)
    return [] if same else [f"{where}: {pinned} was, {now} is"]


@pytest.mark.skipif(
    made_with() != {name: Version(version(name)).public for name in DRAW},
    reason="the numbers are of the versions in constraints.txt; others initialise weights or draw in another order",
)
@pytest.mark.filterwarnings("ignore::dropgnn.errors.NotShared")
def test_nothing_has_moved(found: dict[str, Any]) -> None:
    assert differences(PINNED, found) == []


@pytest.mark.parametrize("name", ["outputs GIN remove True", "plan zero exact None"])
def test_a_moved_number_is_noticed(name: str) -> None:
    moved = json.loads(json.dumps(PINNED[name]))
    values = moved["rows"][0] if "rows" in moved else moved["states"]
    values[0] += 1e-6 if isinstance(values[0], float) else 1
    assert len(differences(PINNED[name], moved)) == 1
