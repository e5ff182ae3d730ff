"""What is wrong with a cluster is said at once."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dropgnn.errors import InvalidArgument
from dropgnn.training.address import GREETING, SETTINGS, check_address
from dropgnn.training.cluster import spread_on_ray


@pytest.mark.parametrize("address", ["no such host:1", "localhost:1", "ray://localhost:1", "localhost:99999999"])
def test_an_address_where_nobody_answers(address: str) -> None:
    pytest.importorskip("ray", reason="clusters need the extra 'cluster'")
    with pytest.raises(
        InvalidArgument, match=r"'cluster' must be the address of a Ray cluster that answers .*ray start --head"
    ):
        next(spread_on_ray(print, [1], address=address, jobs=1))


@pytest.mark.parametrize("address", ["", "foo", "LOCAL", " local", "ray://foo", "host:port", ":6379", "host:"])
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(InvalidArgument, match=r"'cluster' must be 'local', 'auto', or an address such as HOST:6379"):
        check_address(address)


@contextmanager
def server(answer: bytes) -> Iterator[str]:
    """The address of one that answers, once."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def respond() -> None:
            with listening.accept()[0] as connection:
                connection.recv(len(GREETING))
                connection.sendall(answer)

        thread = threading.Thread(target=respond)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        thread.join()


def test_something_else_answers_than_ray() -> None:
    """Such as the dashboard, whose address Ray prints, too."""
    with (
        server(b"HTTP/1.1 400 Bad Request\r\n\r\n") as address,
        pytest.raises(InvalidArgument, match=r"that answers .*something else answers there; 8265 is the port"),
    ):
        check_address(address)
    with server(SETTINGS) as address:
        check_address(address)


def test_ray_finds_no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray", reason="clusters need the extra 'cluster'")

    def none(**_: object) -> None:
        raise ConnectionError("Could not find any running Ray instance.")

    monkeypatch.setattr(ray, "init", none)
    with pytest.raises(InvalidArgument, match=r"Ray cluster that answers .*Could not find any running Ray instance"):
        next(spread_on_ray(print, [1], address="auto", jobs=1))
