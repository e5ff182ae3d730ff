"""Through which modules one forward goes, and how often it switches between them: ``python -m benchmarks.path``.

Counts every call of a Python function of ``dropgnn`` during one ``model(x, edge_index)`` of a two-layer GIN in evaluation,
planning included, and prints the modules in the order in which they are first entered. Entries from torch into ``rows.py``, as
many as functions that the encoder calls, count once.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from types import FrameType
from typing import Any

import torch

from dropgnn import GIN, Bernoulli, DropGNN

PACKAGE, ROWS = "dropgnn.", "dropgnn.engine.rows"


def trace() -> list[str]:
    """The modules of all calls, in order, each with the one it goes back to."""
    torch.manual_seed(0)
    model = DropGNN(GIN(1, 4, 2), Bernoulli(0.2, 4), generator=torch.Generator().manual_seed(0)).eval()
    ring = torch.arange(6)
    given = torch.ones(6, 1), torch.stack([ring, ring.roll(1)])
    with torch.no_grad():
        model(*given)  # what is imported, compiled or remembered at the first call
        visited: list[str] = []
        stack: list[str] = []

        def watch(frame: FrameType, event: str, _: Any) -> None:
            name = frame.f_globals.get("__name__", "")
            if not name.startswith(PACKAGE):
                return
            if event == "call":
                stack.append(name)
                visited.append(name)
            elif event == "return" and stack:
                stack.pop()
                if stack:
                    visited.append(stack[-1])

        sys.setprofile(watch)
        try:
            model(*given)
        finally:
            sys.setprofile(None)
    return visited


def main() -> None:
    visited = trace()
    switches = [(one, other) for one, other in pairwise(visited) if one != other]
    into_rows = [pair for pair in switches if ROWS in pair]
    modules = list(dict.fromkeys(visited))
    print("\n".join(modules))
    print(f"{len(modules)} modules, {len(switches) - len(into_rows) + bool(into_rows)} switches")


if __name__ == "__main__":
    main()
