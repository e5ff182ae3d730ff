"""Ways to damage a file: by chance, and by intent. Everything is decided by a generator of random numbers."""

from __future__ import annotations

import json
import pickle
import re
import struct
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

Mutation = Callable[[bytes, Random], bytes]

NUMBERS = (
    b"0", b"-1", b"7", b"1e999", b"NaN", b"-Infinity", b"0.5", b"255", b"256", b"65536", b"2147483648", b"9223372036854775807",
    b"9223372036854775808", b"18446744073709551616", b"1" + b"0" * 30, b"9" * 400, b"9" * 5000, b"1e308", b"-0", b"0x10", b"1_0",
)  # fmt: skip
WORDS = (
    "é", "\u0663", "\U0001d7d9", "\u202e", "\x00", "\ufeff", "\ud800", "\u2028", "'", '"', "\\ud800", "null", "true", "\x85",
)  # fmt: skip
TEXTS = (*(text.encode("utf-8", "surrogatepass") for text in WORDS), b"\xff", b"\xc3", b"\x80\x80")
OPENING = (b"[", b"{", b'{"a":', b"(", b"<a>", b'"', b"'")
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 10**30, 10**400, 1e308, float("nan"), float("inf"), "", "x", "\ud800", [], {}, [[]], {"a": 1}, "9",
)  # fmt: skip
SIZES = (0, 1, 3, 10, 255, 4_000, 2**31, 2**40, 10**17)
TYPES = (
    "<f8",
    "|S9",
    "<U9",
    "<U99999999",
    "|u1",
    "<i4",
    "|O",
    "<M8",
    "|V8",
    "|b1",
    "<f2",
    "<c16",
    "|S0",
    ">i8",
    "i3",
    "<f16",
)


class Payload:
    """Something that makes a folder when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.mkdir, (self.marker,)


def payloads(marker: Path) -> list[bytes]:
    """Files that would run code, or ask for more and more, in readers that are careless."""
    executing = pickle.dumps(Payload(marker))
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    graph = '<graphml><graph edgedefault="undirected"><node id="&l9;"/></graph></graphml>'
    outside = '<?xml version="1.0"?><!DOCTYPE g [<!ENTITY x SYSTEM "file:///etc/hostname">]><graphml>&x;</graphml>'
    return [
        executing,
        npy_header("|O", (1,)) + executing,
        f'<?xml version="1.0"?><!DOCTYPE g [<!ENTITY l0 "laugh">{laughs}]>{graph}'.encode(),
        outside.encode(),
        npy_header("<f8", (10**9,)),
        struct.pack("<Q", 2**62) + b"{}",
    ]


def npy_header(descr: str, shape: tuple[int, ...]) -> bytes:
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def flip(content: bytes, chance: Random) -> bytes:
    changed = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 8, 64))):
        if changed:
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def flip_early(content: bytes, chance: Random) -> bytes:
    """Headers decide most."""
    return flip(content[:160], chance) + content[160:]


def truncate(content: bytes, chance: Random) -> bytes:
    return content[: chance.randrange(len(content) + 1)]


def empty(content: bytes, chance: Random) -> bytes:
    return chance.choice((b"", b"\n", b" ", b"{}", b"[]", b"null", b"0"))


def duplicate(content: bytes, chance: Random) -> bytes:
    start, end = _span(content, chance)
    return content[:end] + content[start:end] * chance.choice((1, 1, 2, 50)) + content[end:]


def remove(content: bytes, chance: Random) -> bytes:
    start, end = _span(content, chance)
    return content[:start] + content[end:]


def swap(content: bytes, chance: Random) -> bytes:
    a, b, c, d = sorted(chance.randrange(len(content) + 1) for _ in range(4))
    return content[:a] + content[c:d] + content[b:c] + content[a:b] + content[d:]


def swap_lines(content: bytes, chance: Random) -> bytes:
    lines = content.splitlines(keepends=True)
    for _ in range(chance.choice((1, 3))):
        if len(lines) > 1:
            lines[chance.randrange(len(lines))] = chance.choice(lines)
    return b"".join(lines)


def number(content: bytes, chance: Random) -> bytes:
    """Another number in the place of one."""
    return _replace(rb"-?\d+(\.\d+)?", content, chance, chance.choice(NUMBERS))


def digits(content: bytes, chance: Random) -> bytes:
    """A number with as many digits, so that everything behind it stays in its place."""
    found = list(re.finditer(rb"\d+", content[:4_000]))
    if not found:
        return content
    one = chance.choice(found)
    new = bytes(chance.choice(b"0199") for _ in range(len(one[0])))
    return content[: one.start()] + new + content[one.end() :]


def word(content: bytes, chance: Random) -> bytes:
    """A word of the file in the place of another."""
    found = re.findall(rb"[\w.:#$+-]+", content[:20_000])
    return _replace(rb"[\w.:#$+-]+", content, chance, chance.choice(found)) if found else content


def text(content: bytes, chance: Random) -> bytes:
    start = chance.randrange(len(content) + 1)
    return content[:start] + chance.choice(TEXTS) * chance.choice((1, 1, 300)) + content[start:]


def recode(content: bytes, chance: Random) -> bytes:
    return content.decode("latin1").encode(chance.choice(("utf-16", "utf-32", "utf-8-sig")))


def nest(content: bytes, chance: Random) -> bytes:
    start = chance.randrange(len(content) + 1)
    return content[:start] + chance.choice(OPENING) * chance.choice((3, 400, 990, 3_000, 100_000)) + content[start:]


def nest_whole(content: bytes, chance: Random) -> bytes:
    """Properly nested JSON: as the file, or as one of its values."""
    depth = chance.choice((10, 200, 900, 3_000))
    deep = b"[" * depth + b"]" * depth
    return _replace(rb'"[^"]*"|\d+(\.\d+)?', content, chance, deep) if chance.random() < 0.7 else deep


def value(content: bytes, chance: Random) -> bytes:
    """A value of a JSON file replaced or removed; other files, and those nested too deeply, have a number changed."""
    try:
        return json.dumps(_changed(json.loads(content), chance)).encode()
    except (ValueError, RecursionError):
        return number(content, chance)


def _changed(document: Any, chance: Random) -> Any:
    places: list[tuple[Any, Any]] = []

    def look(inside: Any) -> None:
        if isinstance(inside, dict | list):
            for key in inside if isinstance(inside, dict) else range(len(inside)):
                places.append((inside, key))
                look(inside[key])

    look(document)
    if not places:
        return document
    holder, key = chance.choice(places)
    action = chance.random()
    if action < 0.6:
        holder[key] = chance.choice(VALUES)
    elif action < 0.75:
        del holder[key]
    else:
        holder[key] = json.loads(chance.choice([json.dumps(inside[at]) for inside, at in places]))
    return document


def header(content: bytes, chance: Random) -> bytes:
    """Another header of an array, of the right length; other files lose their beginning."""
    if not content.startswith(b"\x93NUMPY"):
        return content[chance.randrange(1, 20) :]
    shape = tuple(chance.choice(SIZES) for _ in range(chance.choice((0, 1, 1, 2, 2, 3))))
    return npy_header(chance.choice(TYPES), shape) + content[128:]


MUTATIONS: dict[str, Mutation] = {
    one.__name__: one
    for one in (
        flip, flip_early, truncate, empty, duplicate, remove, swap, swap_lines, number, digits, word, text, recode, nest,
        nest_whole, value, header,
    )
}  # fmt: skip


def mutate(content: bytes, chance: Random, marker: Path) -> tuple[bytes, str]:
    """A damaged file, and what was done to it."""
    if chance.random() < 0.03:
        return chance.choice(payloads(marker)), "payload"
    names = [chance.choice(list(MUTATIONS)) for _ in range(chance.choice((1, 1, 1, 2, 3)))]
    for name in names:
        content = MUTATIONS[name](content, chance)
    return content, "+".join(names)


def _span(content: bytes, chance: Random) -> tuple[int, int]:
    start = chance.randrange(len(content) + 1)
    return start, min(len(content), start + chance.choice((1, 4, 32, 200)))


def _replace(pattern: bytes, content: bytes, chance: Random, new: bytes) -> bytes:
    found = list(re.finditer(pattern, content[:20_000]))
    if not found:
        return content
    one = chance.choice(found)
    return content[: one.start()] + new + content[one.end() :]
