"""What is wrong with a cluster is said at once."""

from __future__ import annotations

import pytest

from dropgnn.errors import InvalidArgument
from dropgnn.training.cluster import spread_on_ray


@pytest.mark.parametrize(
    "address", ["no such host:1", "localhost:1", "ray://localhost:1", "localhost:99999999", "host:port"]
)
def test_an_address_where_nobody_answers(address: str) -> None:
    pytest.importorskip("ray", reason="clusters need the extra 'cluster'")
    with pytest.raises(
        InvalidArgument, match=r"'cluster' must be the address of a Ray cluster that answers .*ray start --head"
    ):
        next(spread_on_ray(print, [1], address=address, jobs=1))
