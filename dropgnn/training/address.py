"""The address of a Ray cluster, checked before anything heavy is imported: Ray itself would try for ten minutes."""

from __future__ import annotations

import os
import socket

from dropgnn.errors import InvalidArgument

LOCAL = "local"

ANSWERS = 10.0
"""Seconds within which a cluster answers."""

SETTINGS = bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""The first frame of both sides of a connection in HTTP/2, which Ray speaks: length, kind (4), flags, stream."""

GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + SETTINGS


def check_address(address: str) -> None:
    """Raise if the address has another form than Ray's, or if what answers there is not Ray."""
    if address in (LOCAL, "auto"):
        return
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not (host and colon and port.isdecimal()):
        rule = "must be 'local', 'auto', or an address such as HOST:6379 or ray://HOST:10001"
        raise InvalidArgument("cluster", rule, got=repr(address), hint="ray start --head prints it")
    try:
        with socket.create_connection((host, int(port)), timeout=ANSWERS) as connection:
            connection.sendall(GREETING)
            answer = connection.recv(4)
    except (OSError, OverflowError, UnicodeError) as problem:
        raise no_answer(address, problem) from problem
    if answer[3:] != SETTINGS[3:4] and os.environ.get("RAY_USE_TLS", "0") == "0":
        raise no_answer(address, "something else answers there; 8265 is the port of Ray's dashboard")


def no_answer(address: str, problem: object) -> InvalidArgument:
    rule = "must be the address of a Ray cluster that answers"
    return InvalidArgument("cluster", rule, got=f"{address!r}: {problem}", hint="ray start --head prints it")
