"""Memory of a step that the next one needs again."""

from __future__ import annotations

import numpy as np

LARGEST = 2**25 - 2**13
"""Just below the largest block, in bytes, from which the GNU C library learns."""


def keep_freed_blocks() -> None:
    """Let freed blocks be used again instead of going back to the system, which hands them out page by page in every step.

    The GNU C library does that for blocks up to the largest that was ever freed (``M_MMAP_THRESHOLD`` in ``mallopt(3)``), so one
    that nobody writes on is taken and freed. It keeps up to twice as much then, 64 MB. Other libraries are as they were.
    """
    np.empty(LARGEST, np.uint8)
