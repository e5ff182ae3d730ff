"""A rule: what a class of modules looks at, and how it acts on distinct rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch


class Rule(NamedTuple):
    """How modules of one class act on distinct rows.

    Args:
        module: The class itself; classes derived from it may do anything, and need rules of their own.
        act: ``(module, call) -> rows``, or ``NotImplemented`` where this call cannot be shared.
        rounds: How many rounds of states the rows depend on that a module returns, as it is set; 0 for a function of single rows.
        obstacle: Why a module, as it is set, does something else after all, or ``None``; what may hinder modules of any class,
            such as hooks and dropout, need not be looked for.
        degrees: Whether a module, as it is set, wants to know the degrees of states before the first layer.
    """

    module: type[torch.nn.Module]
    act: Callable[[Any, Any], Any]
    rounds: Callable[[Any], int] = lambda module: 1
    obstacle: Callable[[Any], str | None] | None = None
    degrees: Callable[[Any], bool] = lambda module: False


RULES: dict[type, Rule] = {}
"""By class."""


def rule_of(module: torch.nn.Module) -> Rule | None:
    """The rule for a module, if its class has one."""
    return RULES.get(type(module))
