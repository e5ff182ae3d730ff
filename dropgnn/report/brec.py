"""BREC's results as tables and files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

from dropgnn.data.brec import FILES, NAMES
from dropgnn.errors import DataProblem
from dropgnn.files import written_whole

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
        found = json.loads(path.read_text(encoding="utf-8"))
        found["method"], int(found["layers"])
        [
            (int(row["pair"]), NAMES[row["kind"]], row["nodes"], row["separated"], row["reliable"])
            for row in found["pairs"]
        ]
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise DataProblem(f"{path} is not what dropgnn brec train writes ({problem})") from problem
    return found


def save(path: Path, content: dict[str, Any]) -> None:
    """Write results as JSON, one pair a line."""
    pairs = ",\n".join("  " + json.dumps(row) for row in content["pairs"])
    head = json.dumps({key: value for key, value in content.items() if key != "pairs"})[:-1]
    with written_whole(path) as beside:
        beside.write_text(f'{head}, "pairs": [\n{pairs}\n]}}\n', encoding="utf-8")
