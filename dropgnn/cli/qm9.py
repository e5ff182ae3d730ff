"""QM9 with a progress bar where it has to be made first."""

from __future__ import annotations

from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING

from rich.console import Console

from dropgnn.cli.files import input_folder
from dropgnn.cli.names import MOLECULES
from dropgnn.cli.running import progress_bar

if TYPE_CHECKING:
    from dropgnn.data.qm9.dataset import QM9

PATIENCE = 2.0
"""Seconds without a bar: reading what is in the cache takes less."""


def check_folder(folder: Path | None) -> None:
    """Check that PyG's folder of QM9, where one is given, has its files."""
    input_folder("data", folder)
    if folder is not None:
        from dropgnn.data.qm9.pyg_folder import PyGFolder

        PyGFolder(folder).check()


def load_qm9(folder: Path | None = None) -> QM9:
    """The dataset from the cache, or made now from ``qm9pack`` or, where one is given, PyG's folder of it."""
    from dropgnn.data.qm9.dataset import QM9

    with progress_bar(Console(stderr=True), "preparing QM9 (once), molecules") as progress:
        task = progress.add_task("molecules", total=MOLECULES, visible=False)
        late = Timer(PATIENCE, progress.update, (task,), {"visible": True})
        late.start()
        try:
            return QM9.load(pyg_folder=folder, on_progress=lambda more: progress.update(task, advance=more))
        finally:
            late.cancel()
