"""Names for interchangeable pieces, so that ``mode="zero"`` and ``mode=ZeroInputs()`` mean the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from dropgnn.errors import one_of

T = TypeVar("T")


class Registry(Mapping[str, T]):
    """The members of one family by name.

    >>> colours = Registry("colour", {"red": 1, "blue": 2})
    >>> colours["red"], list(colours)
    (1, ['red', 'blue'])
    >>> colours["green"]
    Traceback (most recent call last):
    ...
    dropgnn.errors.InvalidArgument: 'colour' must be one of red, blue (got 'green')
    """

    def __init__(self, family: str, members: dict[str, T]) -> None:
        self.family = family
        self._members = dict(members)

    def __getitem__(self, name: str) -> T:
        return self._members[one_of(self.family, name, self._members)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._members
