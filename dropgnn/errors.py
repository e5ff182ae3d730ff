"""What can go wrong, said in one voice: the argument, the rule, the value and the way out."""

from __future__ import annotations


class DropGNNError(Exception):
    """Base of every error this package raises on purpose."""


class InvalidArgument(DropGNNError, ValueError):
    """An argument breaks its rule.

    >>> raise InvalidArgument("p", "must lie in [0, 1]", got=1.2, hint="try RunPlan.of(graphs).p")
    Traceback (most recent call last):
    ...
    dropgnn.errors.InvalidArgument: 'p' must lie in [0, 1] (got 1.2); try RunPlan.of(graphs).p
    """

    def __init__(self, argument: str, rule: str, *, got: object, hint: str = "") -> None:
        super().__init__(f"'{argument}' {rule} (got {got})" + (f"; {hint}" if hint else ""))


class Unsupported(DropGNNError, TypeError):
    """A combination that would silently mean something else, and is therefore refused."""


class DataProblem(DropGNNError, ValueError):
    """A file or a dataset that cannot be read as what it claims to be."""
