"""Folds: the published ones, whatever is filtered, and our own."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from dropgnn.data.datasets import Dataset, load_dataset
from dropgnn.data.folds import FOLDS, split_off, stratified_folds
from dropgnn.data.recipes import PAPER

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.mark.parametrize("name", PAPER)
def test_folds_are_the_published_ones(name: str, data_root: Path) -> None:
    """Without a filter, number by number; filtered, the same graphs but for those left out, none of them tested twice or trained
    on where it is tested."""
    whole, dataset = load_dataset(name, filter="none"), load_dataset(name)
    names = {"IMDB-B": "IMDBBINARY", "IMDB-M": "IMDBMULTI", "PTC_MR": "PTC"}
    folder = data_root / "tu" / names.get(name, name) / "10fold_idx"
    for number, fold in enumerate(whole.folds, start=1):
        assert fold.test.tolist() == [int(line) for line in (folder / f"test_idx-{number}.txt").read_text().split()]
        assert fold.train.tolist() == [int(line) for line in (folder / f"train_idx-{number}.txt").read_text().split()]
    stays = {
        "PROTEINS": lambda nodes, edges: nodes < 450 and (nodes, edges) != (7, 12),
        "IMDB-B": lambda nodes, _: nodes <= 70,
        "IMDB-M": lambda nodes, _: nodes <= 70,
    }.get(name, lambda *_: True)
    for unfiltered, fold in zip(whole.folds, dataset.folds, strict=True):
        assert not torch.isin(fold.test, fold.train).any()
        for before, after in zip(unfiltered, fold, strict=True):
            told = [(nodes, edges, y) for nodes, edges, y in looks_of(whole, before) if stays(nodes, edges)]
            if name == "PTC_MR":  # the same molecules, but not all of their atoms
                assert [y for _, _, y in told] == [y for _, _, y in looks_of(dataset, after)]
            else:
                assert told == looks_of(dataset, after)
    tested = torch.cat([fold.test for fold in dataset.folds])
    assert tested.unique().numel() == tested.numel()
    assert int(torch.cat([tested, dataset.folds[0].train]).max()) < len(dataset.graphs)


def looks_of(dataset: Dataset, part: torch.Tensor) -> list[tuple[int, int, int]]:
    """Nodes, edges and class of the graphs of a part, in its order."""
    graphs = dataset.graphs
    return list(zip(*(values[part].tolist() for values in (graphs.nodes, graphs.edges, graphs.y)), strict=True))


def test_folds_of_our_own_keep_the_classes_together() -> None:
    y = torch.tensor([0] * 40 + [1] * 20)
    folds = stratified_folds(y, seed=0)
    assert len(folds) == FOLDS
    assert {tuple(torch.bincount(y[fold.test]).tolist()) for fold in folds} == {(4, 2)}
    assert torch.equal(torch.cat([fold.test for fold in folds]).sort().values, torch.arange(60))
    assert not torch.equal(folds[0].test, stratified_folds(y, seed=1)[0].test)


def test_what_is_split_off_keeps_the_classes_together() -> None:
    y = torch.tensor([0] * 80 + [1] * 40)
    train = torch.arange(20, 120)
    split = split_off(train, y, seed=0)
    assert torch.bincount(y[split.test]).tolist() == [6, 4]
    assert torch.equal(torch.cat(split).sort().values, train)
    assert not torch.equal(split.test, split_off(train, y, seed=1).test)
