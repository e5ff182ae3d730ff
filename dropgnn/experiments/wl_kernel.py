"""The WL subtree kernel (Shervashidze et al., JMLR 2011) with a support vector machine, on the folds of the others."""

from __future__ import annotations

from functools import lru_cache
from itertools import product

import numpy as np
from scipy import sparse

from dropgnn.data.datasets import Dataset
from dropgnn.errors import MissingExtra
from dropgnn.theory.wl import Palette, refine

ROUNDS = range(1, 7)
PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0)
CHOICES = tuple(product(ROUNDS, PENALTIES))
"""Rounds of refinement, and how much a support vector machine minds errors: what there is to choose."""


@lru_cache(maxsize=8)
def kernels(dataset: Dataset) -> dict[int, np.ndarray]:
    """After so many rounds, how often graphs have colours in common, ``[G, G]``, each graph with itself being 1."""
    graphs = list(dataset.graphs)
    neighbors, colours = [], []
    for graph in graphs:
        heard: list[list[int]] = [[] for _ in range(graph.num_nodes)]
        for sender, receiver in graph.edge_index.t().tolist():
            heard[receiver].append(sender)
        neighbors.append(heard)
        colours.append([tuple(row) for row in graph.x.tolist()])
    total, found = _in_common(colours), {}
    for rounds in ROUNDS:
        palette = Palette()
        colours = [refine(heard, known, 1, palette) for heard, known in zip(neighbors, colours, strict=True)]  # type: ignore[misc]
        total = total + _in_common(colours)
        scale = np.sqrt(total.diagonal())
        found[rounds] = total.toarray() / np.outer(scale, scale)
    return found


def _in_common(colours: list) -> sparse.csr_matrix:
    numbers: dict = {}
    columns = [numbers.setdefault(colour, len(numbers)) for graph in colours for colour in graph]
    rows = np.repeat(np.arange(len(colours)), [len(graph) for graph in colours])
    counts = sparse.csr_matrix((np.ones(len(columns)), (rows, columns)), shape=(len(colours), len(numbers)))
    return counts @ counts.T


def kernel_accuracy(dataset: Dataset, train: np.ndarray, test: np.ndarray, rounds: int, penalty: float) -> float:
    """The share of the test graphs that a machine, trained on others, gets right."""
    try:
        from sklearn.svm import SVC
    except ImportError as missing:
        raise MissingExtra("scikit-learn", "cli") from missing
    y, kernel = dataset.graphs.y.numpy(), kernels(dataset)[rounds]
    machine = SVC(kernel="precomputed", C=penalty).fit(kernel[np.ix_(train, train)], y[train])
    return float(np.mean(machine.predict(kernel[np.ix_(test, train)]) == y[test]))
