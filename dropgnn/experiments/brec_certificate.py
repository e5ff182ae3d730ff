"""BREC without training: the smallest k whose k-dropouts separate each pair, proved."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dropgnn.data.brec import load_brec_once
from dropgnn.data.pairs import structure_of
from dropgnn.theory.distinguish import distinguish

EXPERIMENT = "brec-certificate"


@dataclass(frozen=True)
class Certificate:
    """Try dropouts of up to ``max_k`` nodes on one pair."""

    pair: int
    max_k: int


def run(
    trial: Certificate, on_epoch: Callable[[int, float], None] | None = None, *, data: Path | None = None
) -> dict[str, Any]:
    """The verdict on one pair as a record."""
    started, pair = time.perf_counter(), load_brec_once(data)[trial.pair]
    verdict = distinguish(structure_of(pair.a), structure_of(pair.b), max_k=trial.max_k, telling=False)
    return {
        "kind": pair.kind,
        "nodes": pair.a.number_of_nodes(),
        "k": verdict.k,
        "subsets": verdict.subsets,
        "proved": verdict.proved,
        "seconds": time.perf_counter() - started,
    }
