"""Independent streams of randomness from one seed, and weights that do not touch the global state."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from dropgnn.errors import of_kind, whole_number


def stream(seed: int, purpose: str) -> torch.Generator:
    """A generator for one purpose; streams of other purposes or seeds are independent of it.

    >>> a, b = stream(0, "runs"), stream(0, "features")
    >>> bool(torch.rand(1, generator=a) == torch.rand(1, generator=b))
    False
    """
    seed = whole_number("seed", seed, least=0)
    of_kind("purpose", purpose, str)
    state = np.random.SeedSequence([seed, zlib.crc32(purpose.encode())]).generate_state(1, np.uint64)
    return torch.Generator().manual_seed(int(state[0] >> np.uint64(1)))


@contextmanager
def repeatable() -> Iterator[None]:
    """Within this context sums are added up in the same order every time, however many threads there are."""
    settings: Any = torch.utils.deterministic
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    filled, settings.fill_uninitialized_memory = settings.fill_uninitialized_memory, False
    torch.use_deterministic_algorithms(True, warn_only=True)  # on a GPU some operations have no other way
    try:
        yield
    finally:
        settings.fill_uninitialized_memory = filled
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])


@contextmanager
def seeded_weights(seed: int, purpose: str = "weights") -> Iterator[None]:
    """Within this context modules initialise themselves from ``seed``; the global random state is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(stream(seed, purpose).initial_seed())  # and not those of GPUs
        yield
