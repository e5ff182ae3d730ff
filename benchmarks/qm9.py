"""How long it takes to make QM9's arrays out of the package, and to load them."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import torch
from rich.console import Console
from rich.progress import Progress

from dropgnn.data.qm9.dataset import QM9


def measure_qm9(console: Console) -> dict[str, float]:
    """Seconds to make all molecules with two processes, to load them, and to have the first batch of the 1-GNN."""
    with tempfile.TemporaryDirectory() as folder, Progress(console=console) as progress:
        task, arrays = progress.add_task("QM9", total=130_831), Path(folder) / "arrays"
        started = time.perf_counter()
        QM9.load(arrays, jobs=2, on_progress=lambda more: progress.advance(task, more))
        made = time.perf_counter()
        found = QM9.load(arrays)
        loaded = time.perf_counter()
        found.graphs("bonds", scaled=True).batch(torch.arange(64))
        ready = time.perf_counter()
    return {
        "molecules": len(found), "make, seconds": made - started, "load, seconds": loaded - made,
        "first batch, seconds": ready - loaded,
    }  # fmt: skip
