"""Looking into modules."""

from __future__ import annotations

import torch


def inside(module: torch.nn.Module) -> list[torch.nn.Module]:
    """The module and everything in it, each once. Unlike ``module.modules()`` it spells no names, which every step of a small
    model would wait for.

    >>> twice = torch.nn.ReLU()
    >>> [type(one).__name__ for one in inside(torch.nn.Sequential(twice, torch.nn.Linear(1, 1), twice))]
    ['Sequential', 'ReLU', 'Linear']
    """
    found: dict[int, torch.nn.Module] = {}
    waiting = [module]
    while waiting:
        one = waiting.pop()
        if id(one) not in found:
            found[id(one)] = one
            waiting.extend(child for child in reversed(one._modules.values()) if child is not None)
    return list(found.values())
