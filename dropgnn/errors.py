"""What can go wrong, said in one voice: the argument, the rule, the value and the way out."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

LONGEST = 500
"""Characters of a value that a message shows."""


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
        way_out = f"; {hint}" if isinstance(hint, str) and hint else ""
        super().__init__(
            f"'{_shown(argument)}' {rule if isinstance(rule, str) else _shown(rule)} (got {_shown(got)}){way_out}"
        )


def _shown(value: object, show: Callable[[object], str] = format) -> str:
    """``value`` as a message shows it: cut off where it is long, its type where it cannot be printed."""
    try:
        text = show(value)
    except Exception:  # how a foreign object prints is foreign code
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def whole_number(argument: str, value: object, *, least: int, most: int | None = None, hint: str = "") -> int:
    """``value`` as an int, whatever kind of whole number it is; else an error that names ``argument``."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, RuntimeError, OverflowError):  # what tensors and arrays of other kinds raise
        number = least - 1
    if number < least or isinstance(value, bool) or str(getattr(value, "dtype", "")) == "torch.bool":
        raise InvalidArgument(argument, f"must be a whole number of at least {least}", got=value, hint=hint)
    if most is not None and number > most:
        raise InvalidArgument(argument, f"must be at most {most:,}", got=value, hint=hint)
    return number


def real_number(
    argument: str, value: object, *, least: float = -math.inf, most: float = math.inf, hint: str = ""
) -> float:
    """``value`` as a finite float between ``least`` and ``most``; else an error that names ``argument``."""
    try:
        number = math.nan if isinstance(value, (str, bytes, bool)) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, RuntimeError, OverflowError):
        number = math.nan
    if not (math.isfinite(number) and least <= number <= most):
        within = f"must lie in [{least:g}, {most:g}]" if math.isfinite(most) else f"must be at least {least:g}"
        rule = "must be a finite number" if math.isinf(least) and math.isinf(most) else within
        raise InvalidArgument(argument, rule, got=value, hint=hint)
    return number


def yes_or_no(argument: str, value: object) -> bool:
    """``value``, if it is True or False; else an error that names ``argument``."""
    if not isinstance(value, bool):
        raise InvalidArgument(argument, "must be True or False", got=_shown(value, repr))
    return value


def of_kind(argument: str, value: Any, kind: type, hint: str = "") -> Any:
    """``value``, if it is a ``kind``; else an error that names ``argument``."""
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise InvalidArgument(argument, f"must be {article} {kind.__name__}", got=_shown(value, repr), hint=hint)
    return value


def one_of(argument: str, value: str, known: Iterable[str]) -> str:
    """``value``, if it is one of the known names; else an error that lists them."""
    names = list(known)
    if not isinstance(value, str) or value not in names:
        raise InvalidArgument(argument, f"must be one of {', '.join(names)}", got=_shown(value, repr))
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
