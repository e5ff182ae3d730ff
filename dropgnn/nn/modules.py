"""Looking into modules."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import Any

import torch


def inside(module: torch.nn.Module, *, without: Collection[int] = ()) -> list[torch.nn.Module]:
    """The module and everything in it, each once, except for modules whose ``id`` is in ``without`` and what only they have.
    Unlike ``module.modules()`` it spells no names, which every step of a small model would wait for.

    >>> twice = torch.nn.ReLU()
    >>> [type(one).__name__ for one in inside(torch.nn.Sequential(twice, torch.nn.Linear(1, 1), twice))]
    ['Sequential', 'ReLU', 'Linear']
    """
    found: dict[int, torch.nn.Module] = {}
    waiting = [module]
    while waiting:
        one = waiting.pop()
        if id(one) not in found and id(one) not in without:
            found[id(one)] = one
            for child in reversed(one._modules.values()):
                if child is not None:
                    waiting.append(child)
    return list(found.values())


def forward_parameters(module: torch.nn.Module) -> Mapping[str, inspect.Parameter]:
    """The parameters of a module's ``forward``, without ``self``."""
    function = getattr(module.forward, "__func__", None)
    return inspect.signature(module.forward).parameters if function is None else _of_method(function)


@lru_cache(maxsize=512)  # looking at a signature takes longer than a small layer
def _of_method(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    parameters = list(inspect.signature(function).parameters.items())
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return dict(parameters if parameters[0][1].kind in variable else parameters[1:])
