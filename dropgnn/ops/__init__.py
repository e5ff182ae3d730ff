"""Operations on arrays: compiled loops for the CPU, and torch for everything else."""

ABSENT = -1
"""The label of a pair whose node was removed, and of a node that no copy leaves as it is in the undropped graph."""
