"""Graph classification datasets: those of the paper, and any other in the same formats."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

import torch
from torch import Tensor

from dropgnn.data.cache import parsed
from dropgnn.data.collection import Collection
from dropgnn.data.folds import Fold, published_folds, stratified_folds
from dropgnn.data.gin_text import read_gin_text
from dropgnn.data.locate import IN_TU, Place, find_dataset, paper_name
from dropgnn.data.raw import RawGraphs
from dropgnn.data.recipes import FEATURES, FILTERS, PAPER, needed, one_hot_of
from dropgnn.data.tu_folder import read_tu_folder
from dropgnn.errors import DataMissing, InvalidArgument, whole_number, yes_or_no

PUBLISHED = "folds: published"
"""A note of a dataset whose folds are those of the GIN paper."""

FROM_TU = "PTC_MR of the TU collection, not the file of the GIN paper"
"""A note of either PTC."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Graphs to classify, and how to split them.

    Args:
        name: What it is called.
        graphs: With features, and classes from 0.
        num_classes: How many classes there are.
        folds: Ten ways to split the graphs into training and test.
        largest_degrees: Of every graph, for the statistics.
        notes: How it was made, in words; the last is one that changes with anything in it.
    """

    name: str
    graphs: Collection
    num_classes: int
    folds: tuple[Fold, ...]
    largest_degrees: Tensor
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Dataset({self.name!r}, {len(self.graphs)} graphs, {self.num_classes} classes)"


def load_dataset(
    name: Path | str,
    *,
    data: Path | str | None = None,
    features: str | None = None,
    filter: str | None = None,
    edge_features: bool = False,
    seed: int = 0,
    download: bool = True,
) -> Dataset:
    """A dataset by its name or its folder.

    Args:
        name: One of the paper's, any other TU dataset, or a folder in one of the two formats.
        data: Where to look first.
        features: A name in ``FEATURES``; by default the paper's choice, else what the files have to say about nodes.
        filter: A name in ``FILTERS``; by default the paper's choice, else none.
        edge_features: Whether labels of edges become features, one-hot.
        seed: For the folds, where none were published.
        download: Whether to fetch what is nowhere to be found.

    Raises:
        DataProblem: With file and line, where the files are not what they should be.
    """
    yes_or_no("edge_features", edge_features)
    seed = whole_number("seed", seed, least=0, most=2**63 - 1)
    place = find_dataset(name, data, download=download)
    name = str(name)
    recipe = PAPER.get(paper_name(name)) or PAPER.get(paper_name(place.name))
    try:
        raw, kept, left_out = _filtered(_read(place), filter, recipe.filter if recipe else "none")
    except InvalidArgument as problem:
        if filter is not None:
            raise
        raise DataMissing(f"{name} cannot be made of {place.path} ({problem})") from problem
    if features is None:
        features = recipe.features if recipe else _features_at_hand(raw, name)
    x, edge_attr = FEATURES[features](raw).float(), None
    if edge_features:
        edge_attr = one_hot_of(needed(raw.edge_label, "labels of edges", "edge_features")).float()
    classes, y = torch.unique(raw.y, return_inverse=True)
    folds = published_folds(place.path.parent, len(raw)) if place.is_text else None
    everything = Collection(x, raw.edge_index, edge_attr, y, raw.nodes, raw.edges)
    notes = [
        f"features: {features} ({x.size(1)})",
        *left_out,
        PUBLISHED if folds is not None else f"folds: stratified, seed {seed}",
        *raw.repairs,
    ]
    if recipe and place.name == IN_TU["PTC"]:
        notes.append(FROM_TU)
    if raw.edge_label is not None:
        notes.append("labels of edges: " + ("features" if edge_features else "left out"))
    split = _renumbered(stratified_folds(y, seed=seed) if folds is None else folds, kept)
    graphs = everything.subset(kept.nonzero().squeeze(1))
    notes.append(f"content: {_digest(graphs, split)}")
    called = next((one for one in map(paper_name, (name, place.name)) if one in PAPER), place.name)
    return Dataset(called, graphs, classes.numel(), split, raw.largest_degrees[kept], tuple(notes))


def _read(place: Place) -> RawGraphs:
    if place.is_text:
        return parsed([place.path], lambda: RawGraphs.of(read_gin_text(place.path)))
    sources = sorted(
        path for path in place.path.iterdir() if path.match("*.txt") and path.name.startswith(f"{place.name}_")
    )
    return parsed(sources, partial(read_tu_folder, place.path, place.name))


def _filtered(raw: RawGraphs, asked: str | None, default: str) -> tuple[RawGraphs, Tensor, list[str]]:
    """All graphs on the nodes that stay, which graphs stay, ``[G]``, and notes of what does not."""
    name = default if asked is None else asked
    left = FILTERS[name].on_nodes(raw)
    kept = FILTERS[name].graphs(left)
    nodes, before = int(raw.nodes.sum() - left.nodes.sum()), int(raw.nodes.sum())
    if not bool(kept.any()):
        raise InvalidArgument("filter", f"must leave at least one of the {len(raw)} graphs", got=repr(name))
    if asked not in (None, "none") and bool(kept.all()) and not nodes:
        raise InvalidArgument("filter", "has no effect on these graphs", got=repr(asked), hint="leave it out")
    notes = [f"filter: {name} ({int((~kept).sum())} of {len(raw)} graphs left out)"]
    return left, kept, notes + ([f"nodes: {nodes} of {before} left out"] if FILTERS[name].nodes else [])


def _features_at_hand(raw: RawGraphs, name: str) -> str:
    if not raw.said_of_nodes:
        raise InvalidArgument(
            "features",
            f"must be chosen for {name}, whose nodes have neither labels nor attributes",
            got=None,
            hint="choose 'degree' or 'constant'",
        )
    return "+".join(raw.said_of_nodes)


def _renumbered(folds: tuple[Fold, ...], kept: Tensor) -> tuple[Fold, ...]:
    """Folds of all graphs as folds of those that are kept."""
    number = kept.cumsum(0) - 1
    return tuple(Fold(*(number[part[kept[part]]] for part in fold)) for fold in folds)


def _digest(graphs: Collection, folds: tuple[Fold, ...]) -> str:
    """A word that changes with any graph, feature, label or fold."""
    digest = hashlib.blake2b(digest_size=8)
    given = (graphs.x, graphs.edge_index, graphs.edge_attr, graphs.y, graphs.nodes, graphs.edges)
    for tensor in (*given, *chain.from_iterable(folds)):
        if tensor is not None:
            digest.update(f"{tuple(tensor.shape)} ".encode() + tensor.contiguous().numpy().tobytes())
    return digest.hexdigest()
