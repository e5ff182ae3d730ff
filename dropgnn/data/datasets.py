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
from dropgnn.errors import DataMissing, InvalidArgument

PUBLISHED, CONTENT = "folds: published", "content: "
"""Notes of a dataset: that its folds are those of the GIN paper; last of all, a word that changes with anything in it."""

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
        notes: How it was made, in words.
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
    name: str,
    *,
    data: Path | None = None,
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
    place = find_dataset(name, data, download=download)
    raw = _read(place)
    recipe = PAPER.get(paper_name(name)) or PAPER.get(paper_name(place.name))
    asked = filter
    if filter is None:
        filter = recipe.filter if recipe else "none"
    try:
        raw, nodes_left_out = _on_nodes(raw, filter, must_matter=asked is not None)
    except InvalidArgument as problem:
        if asked is not None:
            raise
        raise DataMissing(f"{name} cannot be made of {place.path} ({problem})") from problem
    if features is None:
        features = recipe.features if recipe else _features_at_hand(raw, name)
    x, edge_attr = FEATURES[features](raw).float(), None
    if edge_features:
        edge_attr = one_hot_of(needed(raw.edge_label, "labels of edges", "edge_features")).float()
    classes, y = torch.unique(raw.y, return_inverse=True)
    folds = published_folds(place.path.parent, len(raw)) if place.is_text else None
    kept = FILTERS[filter].graphs(raw)
    if not bool(kept.any()):
        raise InvalidArgument("filter", f"must leave a graph of the {len(raw)} of {place.name}", got=repr(filter))
    everything = Collection(x, raw.edge_index, edge_attr, y, raw.nodes, raw.edges)
    notes = [
        f"features: {features} ({x.size(1)})",
        f"filter: {filter} ({int((~kept).sum())} of {len(raw)} graphs left out)",
        *nodes_left_out,
        PUBLISHED if folds is not None else f"folds: stratified, seed {seed}",
        *raw.repairs,
    ]
    if recipe and place.name == IN_TU["PTC"]:
        notes.append(FROM_TU)
    if raw.edge_label is not None:
        notes.append("labels of edges: " + ("features" if edge_features else "left out"))
    chosen = kept.nonzero().squeeze(1)
    split = _renumbered(stratified_folds(y, seed=seed) if folds is None else folds, kept)
    graphs = everything.subset(chosen)
    notes.append(f"{CONTENT}{_digest(graphs, split)}")
    called = next((one for one in map(paper_name, (name, place.name)) if one in PAPER), place.name)
    return Dataset(called, graphs, classes.numel(), split, raw.largest_degrees[chosen], tuple(notes))


def _read(place: Place) -> RawGraphs:
    if place.is_text:
        return parsed([place.path], lambda: RawGraphs.of(read_gin_text(place.path), place.path))
    sources = sorted(
        path for path in place.path.iterdir() if path.match("*.txt") and path.name.startswith(f"{place.name}_")
    )
    return parsed(sources, partial(read_tu_folder, place.path, place.name))


def _on_nodes(raw: RawGraphs, filter: str, *, must_matter: bool) -> tuple[RawGraphs, list[str]]:
    """The graphs on the nodes that stay, and a note of how many do not."""
    if (stays := FILTERS[filter].nodes) is None:
        return raw, []
    kept = stays(raw)
    if must_matter and bool(kept.all()):
        raise InvalidArgument("filter", "has no effect on these graphs", got=repr(filter), hint="leave it out")
    left = raw.induced(kept)
    if bool((left.nodes == 0).any()):
        raise InvalidArgument("filter", "must leave a node of every graph", got=repr(filter))
    return left, [f"nodes: {int((~kept).sum())} of {kept.numel()} left out"]


def _features_at_hand(raw: RawGraphs, name: str) -> str:
    there = [what for what, values in (("labels", raw.tag), ("attributes", raw.attributes)) if values is not None]
    if not there:
        raise InvalidArgument(
            "features",
            f"must be chosen for {name}, whose nodes have neither labels nor attributes",
            got=None,
            hint="choose 'degree' or 'constant'",
        )
    return "+".join(there)


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
