"""Looking into modules."""

from __future__ import annotations

from collections.abc import Collection

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
