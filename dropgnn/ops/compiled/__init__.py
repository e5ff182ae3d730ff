"""Loops compiled by numba, for the CPU.

Those of planning are named here; ``vectorised.py`` has the same functions for other devices.
"""

from dropgnn.ops.compiled.parts import cut_pairs, cut_states
from dropgnn.ops.compiled.planning import colour_rows, group, refine, weigh
from dropgnn.ops.compiled.tensors import native

__all__ = ["colour_rows", "cut_pairs", "cut_states", "group", "native", "refine", "weigh"]
