"""What can go wrong, said in one voice: the argument, the rule, the value and the way out."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable


class DropGNNError(Exception):
    """Base of every error this package raises on purpose."""

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return _again, (type(self), self.args, vars(self))  # what is pickled is the message, not what it was made of


def _again(kind: type[DropGNNError], message: tuple[object, ...], more: dict[str, object]) -> DropGNNError:
    """An error that comes from another process."""
    problem = kind.__new__(kind, *message)
    super(DropGNNError, problem).__init__(*message)
    vars(problem).update(more)
    return problem


class InvalidArgument(DropGNNError, ValueError):
    """An argument breaks its rule.

    >>> raise InvalidArgument("p", "must lie in [0, 1]", got=1.2, hint="try RunPlan.of(graphs).p")
    Traceback (most recent call last):
    ...
    dropgnn.errors.InvalidArgument: 'p' must lie in [0, 1] (got 1.2); try RunPlan.of(graphs).p
    """

    def __init__(self, argument: str, rule: str, *, got: object, hint: str = "") -> None:
        super().__init__(f"'{argument}' {rule} (got {got})" + (f"; {hint}" if hint else ""))


def whole_number(argument: str, value: object, *, least: int, hint: str = "") -> int:
    """``value`` as an int, whatever kind of whole number it is; else an error that names ``argument``."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = least - 1
    if number < least or isinstance(value, bool):
        raise InvalidArgument(argument, f"must be a whole number of at least {least}", got=value, hint=hint)
    return number


def one_of(argument: str, value: str, known: Iterable[str]) -> str:
    """``value``, if it is one of the known names; else an error that lists them."""
    if value not in (names := list(known)):
        raise InvalidArgument(argument, f"must be one of {', '.join(names)}", got=repr(value))
    return value


class Unsupported(DropGNNError, TypeError):
    """A combination that would silently mean something else, and is therefore refused."""


class MissingExtra(DropGNNError, ImportError):
    """Something needs a package that is not installed.

    >>> raise MissingExtra("Ray", "cluster")
    Traceback (most recent call last):
    ...
    dropgnn.errors.MissingExtra: Ray is not installed; it comes with: pip install 'dropgnn[cluster]'
    """

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed; it comes with: pip install 'dropgnn[{extra}]'")


class TrialsFailed(DropGNNError):
    """Some of many trials failed; what the others found is kept."""


class NotShared(UserWarning):
    """Said once where an encoder cannot be shared and every copy is computed by itself."""


class NotCompiled(UserWarning):
    """Said once where numba is missing, and torch does more slowly what compiled loops would."""


class DataProblem(DropGNNError, ValueError):
    """A file or a dataset that cannot be read as what it claims to be."""


class DataMissing(DataProblem):
    """A dataset that is nowhere to be found."""
