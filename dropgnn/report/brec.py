"""BREC's results as tables and files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

from dropgnn.data.brec import FILES, NAMES, kind_of
from dropgnn.errors import DataProblem, whole_number
from dropgnn.files import read_json, written_whole

MOST_LAYERS = 1_000
"""Of a GIN whose results are read back."""

PUBLISHED = {"I2-GNN": 281, "KP-GNN": 275, "3-WL": 270, "PPGN": 233, "SUN": 223, "DropGNN, random runs": 177}
"""Pairs separated, of 400, as the BREC paper reports them for trained GNNs, and for 3-WL; the last about."""


def certificate_table(found: Sequence[dict[str, Any]], max_k: int) -> Table:
    """How many pairs of each kind the k-dropouts separate, for each k up to the largest tried."""
    table = Table(box=box.SIMPLE_HEAD, title="Pairs separated by dropouts of up to k nodes", title_justify="left")
    table.add_column("kind", no_wrap=True)
    table.add_column("pairs", justify="right")
    for k in range(1, max_k + 1):
        table.add_column(f"k <= {k}", justify="right")
    for kind in FILES:
        ks = [row["k"] for row in found if row["kind"] == kind]
        table.add_row(NAMES[kind], str(len(ks)), *_up_to(ks, max_k))
    table.add_section()
    table.add_row("all", str(len(found)), *_up_to([row["k"] for row in found], max_k))
    proved = sum(row["proved"] for row in found)
    table.caption = f"that no smaller k separates was checked colour by colour for {proved} of {len(found)} pairs"
    table.caption_justify = "left"
    return table


def _up_to(ks: Sequence[int | None], max_k: int) -> list[str]:
    return [str(sum(k is not None and k <= most for k in ks)) for most in range(1, max_k + 1)]


def trained_table(found: Sequence[dict[str, Any]], method: str) -> Table:
    """How many pairs of each kind one method separates, and where its reliability check failed."""
    table = Table(box=box.SIMPLE_HEAD, title=f"BREC, trained: {method}", title_justify="left")
    for heading in ("kind", "pairs", "separated", "unreliable"):
        table.add_column(heading, justify="left" if heading == "kind" else "right", no_wrap=True)
    separated, unreliable = (
        Counter(row["kind"] for row in found if test(row))
        for test in (lambda row: row["separated"] and row["reliable"], lambda row: not row["reliable"])
    )
    for kind in FILES:
        pairs = sum(row["kind"] == kind for row in found)
        table.add_row(NAMES[kind], str(pairs), str(separated[kind]), str(unreliable[kind]))
    table.add_section()
    table.add_row("all", str(len(found)), str(separated.total()), str(unreliable.total()))
    table.caption = "reported in the BREC paper: " + ", ".join(f"{name} {pairs}" for name, pairs in PUBLISHED.items())
    table.caption_justify = "left"
    return table


def load_trained(path: Path) -> dict[str, Any]:
    """Read results of ``dropgnn brec train`` back."""
    try:
        found = read_json(path)
        absent = [name for name in ("method", "layers", "pairs") if name not in found]
        if absent:
            raise ValueError(f"it has no {' and no '.join(absent)}")
        if not isinstance(found["method"], str):
            raise ValueError("its method is no name")
        whole_number("layers", found["layers"], least=1)
        if found["layers"] > MOST_LAYERS:
            raise ValueError(f"it has {found['layers']} layers; at most {MOST_LAYERS} can be explained")
        for row in found["pairs"]:
            _check_row(row, found["method"])
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as problem:
        raise DataProblem(f"{path} is not what dropgnn brec train writes ({problem}); run that again") from problem
    return found


def _check_row(row: dict[str, Any], method: str) -> None:
    """Whether it is about one of the pairs."""
    number = whole_number("pair", row["pair"], least=0)
    if row["kind"] != kind_of(number):
        raise ValueError(f"pair {number} is of kind {kind_of(number)}, not {row['kind']!r}")
    whole_number("nodes", row["nodes"], least=1)
    if not isinstance(row["separated"], bool) or not isinstance(row["reliable"], bool):
        raise ValueError(f"pair {number} must be separated and reliable, or not")
    for name in ("t2", "control", "loss"):
        if not isinstance(row[name], int | float):
            raise ValueError(f"pair {number} has {name} {row[name]!r}, which is no number")
        float(row[name])  # as far as floats go
    if method == "exhaustive-2" and whole_number("k", row["k"], least=0) > 2:
        raise ValueError(f"pair {number} has k = {row['k']} with method {method}")


def save(path: Path, content: dict[str, Any]) -> None:
    """Write results as JSON, one pair a line."""
    pairs = ",\n".join("  " + json.dumps(row) for row in content["pairs"])
    head = json.dumps({key: value for key, value in content.items() if key != "pairs"})[:-1]
    with written_whole(path) as beside:
        beside.write_text(f'{head}, "pairs": [\n{pairs}\n]}}\n', encoding="utf-8")
