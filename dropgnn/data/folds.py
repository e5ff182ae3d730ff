"""Ten parts of a dataset, each the test set once."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from dropgnn.errors import DataProblem, whole_number
from dropgnn.files import read_text

FOLDS = 10

DIGITS = 18
"""The most digits that the number of a graph may have."""


class Fold(NamedTuple):
    """Numbers of graphs."""

    train: Tensor
    test: Tensor


def published_folds(folder: Path, graphs: int) -> tuple[Fold, ...] | None:
    """The folds of the GIN paper, where they lie beside its text file; the remainder of G/10 graphs is always in training."""
    if not (folder / "10fold_idx").is_dir():
        return None
    folds = tuple(
        Fold(*(_read(folder / "10fold_idx" / f"{part}_idx-{number}.txt", graphs) for part in ("train", "test")))
        for number in range(1, FOLDS + 1)
    )
    for number, fold in enumerate(folds, start=1):
        if (problem := _problem(fold, graphs)) is not None:
            raise DataProblem(f"fold {number} in {folder / '10fold_idx'} {problem}")
    tested = torch.cat([fold.test for fold in folds])
    if tested.unique().numel() < tested.numel():
        raise DataProblem(f"some graph is tested on in two folds in {folder / '10fold_idx'}")
    return folds


def _problem(fold: Fold, graphs: int) -> str | None:
    """What is wrong with a fold of so many graphs, if anything."""
    if not fold.train.numel() or not fold.test.numel():
        return "has nothing to train on, or nothing to test on"
    if torch.isin(fold.test, fold.train).any():
        return "tests on graphs that it trains on"
    both = torch.cat(fold)
    if both.unique().numel() < both.numel():
        return "names a graph twice"
    return None if both.numel() == graphs else f"has {both.numel()} of the {graphs} graphs"


def stratified_folds(y: Tensor, *, seed: int) -> tuple[Fold, ...]:
    """Folds of our own: the graphs of every class, shuffled, are dealt out in turn."""
    generator = torch.Generator().manual_seed(whole_number("seed", seed, least=0, most=2**63 - 1))
    shuffled = torch.randperm(y.numel(), generator=generator)
    dealt = shuffled[y[shuffled].argsort(stable=True)]
    part = torch.empty_like(y)
    part[dealt] = torch.arange(y.numel()) % FOLDS
    return tuple(
        Fold((part != number).nonzero().squeeze(1), (part == number).nonzero().squeeze(1)) for number in range(FOLDS)
    )


def split_off(train: Tensor, y: Tensor, *, seed: int) -> Fold:
    """A tenth of a training part to validate on, with the classes in proportion."""
    inner = stratified_folds(y[train], seed=seed)[0]
    return Fold(train[inner.train], train[inner.test])


def _read(path: Path, graphs: int) -> Tensor:
    if not path.is_file():
        raise DataProblem(f"{path} is missing")
    numbers = []
    for line, text in enumerate(read_text(path, errors="replace").split("\n"), start=1):
        if not text.strip():
            continue
        number = text.strip()
        if not number.isdecimal() or len(number) > DIGITS or int(number) >= graphs:
            raise DataProblem(
                f"{path}, line {line}: must be the number of a graph, 0 to {graphs - 1}, got {text[:DIGITS]!r}"
            )
        numbers.append(int(number))
    return torch.tensor(numbers, dtype=torch.long)
