"""Both ways of listing what copies drop say the same."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dropgnn.ops import numba_ops, torch_ops


@settings(max_examples=100, deadline=None)
@given(graphs=st.lists(st.tuples(st.integers(0, 5), st.integers(1, 4)), max_size=5), seed=st.integers(0, 10**6))
def test_loops_and_tensors_agree_with_the_definition(graphs: list[tuple[int, int]], seed: int) -> None:
    sizes = torch.tensor([size for size, _ in graphs], dtype=torch.long)
    r = torch.tensor([runs for _, runs in graphs], dtype=torch.long)
    chosen = torch.rand(int(sizes.sum()), 4, generator=torch.Generator().manual_seed(seed)) < 0.5
    expected, copy, first = [], 0, 0
    for size, runs in graphs:
        for run in range(runs):
            expected += [(copy, item) for item in range(size) if chosen[first + item, run]]
            copy += 1
        first += size
    for found in (numba_ops.list_dropped(chosen, sizes, r), torch_ops.list_dropped(chosen, sizes, r)):
        assert found.t().tolist() == [list(pair) for pair in expected]
