"""Errors say the same in every process."""

from __future__ import annotations

import pickle

import pytest

from dropgnn.errors import (
    DataMissing,
    DataProblem,
    DropGNNError,
    InvalidArgument,
    MissingExtra,
    TrialsFailed,
    Unsupported,
)

ERRORS = [
    InvalidArgument("p", "must lie in [0, 1]", got=1.2, hint="try 0.5"),
    MissingExtra("Ray", "cluster"),
    *(kind("said so") for kind in (DropGNNError, Unsupported, DataProblem, DataMissing, TrialsFailed)),
]


@pytest.mark.parametrize("problem", ERRORS, ids=lambda problem: type(problem).__name__)
def test_errors_travel(problem: DropGNNError) -> None:
    problem.add_note("and more")
    again = pickle.loads(pickle.dumps(problem))
    assert (type(again), str(again), again.args) == (type(problem), str(problem), problem.args)
    assert vars(again) == vars(problem)
    assert getattr(again, "msg", None) == getattr(problem, "msg", None)


def test_an_error_about_what_cannot_be_written() -> None:
    """Python writes no whole number of thousands of digits."""
    assert str(InvalidArgument("p", 10**5_000, got=10**5_000)) == "'p' a value of type int (got a value of type int)"  # type: ignore[arg-type]


def test_every_error_is_tried() -> None:
    def below(kind: type) -> set[type]:
        return {kind}.union(*map(below, kind.__subclasses__()))

    assert {kind for kind in below(DropGNNError) if kind.__module__ == "dropgnn.errors"} == set(map(type, ERRORS))
