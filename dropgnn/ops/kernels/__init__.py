"""Loops compiled by numba, for the CPU. Arrays are checked by whoever calls them; ``numba_ops.py`` calls them with tensors."""

ABSENT = -1
"""The label of a pair whose node was removed, and of a node that no copy leaves as it is in the undropped graph."""
