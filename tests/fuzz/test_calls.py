"""Wrong arguments get an error of ours: no other exception, no hang, no gigabytes."""

from __future__ import annotations

import importlib
import math
import pkgutil
import random
import signal
import time
import warnings
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import dropgnn
import dropgnn.nn
import dropgnn.runs
from dropgnn import GIN, Bernoulli, DropGNNError
from dropgnn.testing import peak_megabytes
from tests.fuzz.calls import CALLS, X, collection, data, graph, written

FEW, MANY = 5, 180
"""Calls of each callable with wrong arguments: in every run, and in ``make heavy``, more than 10,000 in all."""

SECONDS, HANGS, MEGABYTES = 2.0, 60, 1_000
"""Processor time of a call, and of one that never ends (the first call of a compiled loop compiles it); memory."""


def _same(value: object) -> object:
    return value


WRONG: dict[str, Callable[[], object]] = {
    **{repr(value): partial(_same, value) for value in (
        None, True, False, -1, 0, 0.5, 2.5, 7, 100, 1_001, 10**6, 2**31, 10**9, 2**40, 2**63, -(2**63), 10**30, math.nan,
        math.inf, -math.inf, 1e300, -0.5, 1 - 1e-16, 1j, "", "sum", "nonsense", b"zero", (), (1, 2), Fraction(1, 3), range(4),
    )},
    "[]": list, "{}": dict, "object()": object, "int": lambda: int, "10**5000": lambda: 10**5000,
    "[None]": lambda: [None], "['a']": lambda: ["a"], "[2**70]": lambda: [2**70], "[[0], [1, 2]]": lambda: [[0], [1, 2]],
    "[-1]": lambda: [-1], "[10**6]": lambda: [10**6], "[0.5]": lambda: [0.5], "[[(50_000_000,)]]": lambda: [[(50_000_000,)]],
    "no entries": lambda: torch.empty(0), "5 zeros": lambda: torch.zeros(5), "5 of -1": lambda: torch.full((5,), -1),
    "5 of 99": lambda: torch.full((5,), 99), "5 of 2**62": lambda: torch.full((5,), 2**62), "5 NaN": lambda: X[:, :1] * math.nan,
    "3 by 3": lambda: torch.ones(3, 3), "8 edges of 99": lambda: torch.full((2, 8), 99), "scalar": lambda: torch.tensor(3),
    "one NaN": lambda: torch.tensor(math.nan), "5 bool": lambda: torch.zeros(5) > 1, "double": lambda: X.double(),
    "half": lambda: X.half(), "whole": lambda: X.long(), "complex": lambda: X.to(torch.complex64), "cube": lambda: X[None],
    "int32": lambda: torch.zeros(2, 8, dtype=torch.int32), "sparse": lambda: X.to_sparse(), "meta": lambda: X.to("meta"),
    "turned": lambda: X.t(), "with gradient": lambda: X.clone().requires_grad_(), "numpy": lambda: np.zeros(5),
    "numpy text": lambda: np.array(["a"]), "Linear": lambda: torch.nn.Linear(3, 2), "ReLU": torch.nn.ReLU,
    "GIN": lambda: GIN(7, 4, 2), "graph": graph, "runs": written, "data": data, "empty data": Data, "collection": collection,
    "sampler": lambda: Bernoulli(0.5, 2), "generator": torch.Generator, "device": lambda: torch.device("meta"),
}  # fmt: skip

INTERNAL = {
    "dropped": "called by samplers, with what they drew",
    "exhaustive": "called by Exhaustive, with checked numbers",
    "loops": "compiled loops",
    "promises": "the checks themselves",
}
"""Modules of ``dropgnn.runs`` that nobody calls from outside."""

ABSTRACT = {"Aggregator", "Encoder", "Mode", "Sampler", "Effect", "SharingReport"}
"""Classes to be subclassed, not called; and plain values: what a mode says of itself, and what a model says of its
sharing."""


def wrong_arguments(name: str, number: int) -> tuple[str, dict[str, Any]]:
    """One or two wrong values among good ones, the same for the same number; and how that reads."""
    chance, entry = random.Random(f"{name} {number}"), CALLS[name]
    arguments = entry.good()
    reads = []
    for argument in chance.sample(sorted(arguments), min(len(arguments), chance.choice((1, 1, 2)))):
        value = callable
        while callable(value) and (value is callable or argument in entry.functions):
            key = chance.choice(list(WRONG))
            value = WRONG[key]()  # type: ignore[assignment]
        arguments[argument] = value
        reads.append(f"{argument}={key}")
    return f"{name}({', '.join(reads)})", arguments


def complaint(name: str, arguments: dict[str, Any]) -> str | None:
    """What is wrong with the way a call fails, or with the time it takes; ``None`` where nothing is."""
    for _ in range(2):  # where the first call was slow, it may have compiled a loop
        start = time.process_time()
        try:
            CALLS[name].call(**arguments)
        except DropGNNError:
            pass
        except IndexError as problem:
            if name != "Collection item":  # the protocol of lists: IndexError ends a loop over them
                return f"IndexError: {problem}"
        except Exception as problem:
            return f"{type(problem).__name__}: {str(problem)[:150]}"
        seconds = time.process_time() - start
        if seconds <= SECONDS:
            return None
    return f"{seconds:.1f} s"


class Hangs(Exception):
    """A call does not end."""


def stop(number: int, frame: FrameType | None) -> None:
    raise Hangs(f"still busy after {HANGS} s")


def complaints(names: list[str], first: int, last: int) -> list[str]:
    found = []
    for name in names:
        for number in range(first, last):
            reads, arguments = wrong_arguments(name, number)
            if hasattr(signal, "setitimer"):
                signal.signal(signal.SIGPROF, stop)
                signal.setitimer(signal.ITIMER_PROF, HANGS)
            try:
                problem = complaint(name, arguments)
            finally:
                if hasattr(signal, "setitimer"):
                    signal.setitimer(signal.ITIMER_PROF, 0)
            if problem is not None:
                found.append(f"{reads} -> {problem}")
    return found


def check(first: int, last: int) -> None:
    found: list[str] = []

    def work() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's, about what it converts
            found.extend(complaints(list(CALLS), first, last))

    if Path("/proc/self/clear_refs").exists():
        assert peak_megabytes(work) < MEGABYTES
    else:
        work()
    assert not found, f"{len(found)} calls:\n" + "\n".join(found)


@pytest.mark.parametrize("name", CALLS)
def test_good_arguments_work(name: str) -> None:
    CALLS[name].call(**CALLS[name].good())


def test_wrong_arguments_get_an_error_of_ours() -> None:
    check(0, FEW)


@pytest.mark.heavy
def test_many_wrong_arguments_get_an_error_of_ours() -> None:
    assert MANY * len(CALLS) >= 10_000
    check(FEW, FEW + MANY)


def test_a_foreign_error_and_a_slow_call_are_complained_about(monkeypatch: pytest.MonkeyPatch) -> None:
    good = CALLS["MODES"]
    monkeypatch.setitem(CALLS, "MODES", good._replace(call=lambda name: {}[name]))
    assert "KeyError" in (complaint("MODES", {"name": "x"}) or "")
    monkeypatch.setitem(CALLS, "MODES", good._replace(call=lambda name: time.process_time()))
    monkeypatch.setattr("tests.fuzz.test_calls.SECONDS", -1.0)
    assert " s" in (complaint("MODES", {"name": "x"}) or "")


def test_no_public_name_is_forgotten() -> None:
    public = {*dropgnn.__all__, *dropgnn.nn.__all__}
    for info in pkgutil.iter_modules(dropgnn.runs.__path__):
        module = importlib.import_module(f"dropgnn.runs.{info.name}")
        if info.name not in INTERNAL:
            public |= {
                name
                for name, value in vars(module).items()
                if not name.startswith("_")
                and getattr(value, "__module__", None) == module.__name__
                and callable(value)
            }
            public |= {
                name for name in vars(module) if name.isupper() and callable(getattr(vars(module)[name], "get", None))
            }
    assert public - ABSTRACT - set(CALLS) == set()
