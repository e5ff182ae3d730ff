"""Small datasets in the formats of the real ones, written by the tests: for what does not depend on which graphs they hold."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np

from dropgnn.data.brec import FILES

GRAPHS, KINDS, FOLDS = 60, 7, 10
"""Of the stand-in for MUTAG: its graphs, the labels of their nodes, and its folds."""

NODES = 18
"""The mean number of nodes, as in MUTAG."""

BREC = {
    0: (b"ICZJvZsNg", b"ICrbut{{W"),
    4: (b"ICpulzN^W", b"ICrfVrfnW"),
    60: (b"I~o__[M@w", b"I}op_WJ@w"),
    110: (b"O~`HW}GPHDaNaGPCcPWaN", b"OlfJHsHBGK_\\oHWKeBK_\\"),
    160: (b"IEhzvzy|o", b"IErtv\\}}o"),
    265: (b"Qq?GOGO?P??@?_??_?_?A?GG?OO", b"Qq?GOGO?OC?@G???_?_?A?GG?OO"),
}
"""Some of the pairs of BREC, by their numbers, as graph6 codes."""


def write_small_mutag(root: Path) -> Path:
    """Write ``tu/MUTAG`` in the text format of the GIN paper, with folds: trees with a ring (class 1) or without (class 0).

    Every graph has 10 to 26 nodes, and all seven labels of nodes occur; those of the first six nodes depend on the class.
    """
    folder, rng = root / "tu" / "MUTAG", np.random.default_rng(0)
    (folder / "10fold_idx").mkdir(parents=True)
    lines = [str(GRAPHS)]
    for number in range(GRAPHS):
        has_ring, nodes = number % 2, NODES + (number // 2 % 3 - 1) * 8
        graph = nx.cycle_graph(6) if has_ring else nx.path_graph(6)
        for node in range(6, nodes):
            graph.add_edge(node, int(rng.integers(max(0, node - 4), node)))
        lines.append(f"{nodes} {has_ring}")
        for node in range(nodes):
            label = rng.integers(0, 2) + 2 * has_ring if node < 6 else rng.integers(KINDS)
            lines.append(" ".join(map(str, (label, graph.degree[node], *graph[node]))))
    (folder / "MUTAG.txt").write_text("\n".join(lines) + "\n")
    part_of = rng.permutation(GRAPHS).reshape(FOLDS, -1)
    for fold, test in enumerate(part_of, start=1):
        train = np.setdiff1d(np.arange(GRAPHS), test)
        for part, graphs in (("train", train), ("test", np.sort(test))):
            text = "\n".join(map(str, graphs.tolist())) + "\n"
            (folder / "10fold_idx" / f"{part}_idx-{fold}.txt").write_text(text)
    return root


def write_few_brec(root: Path) -> Path:
    """Write the raw files of BREC into ``brec``: the pairs of :data:`BREC` under their numbers, and pair 0 under all others."""
    (root / "brec").mkdir(parents=True)
    codes = [BREC.get(number, BREC[0]) for number in range(sum(FILES.values()))]
    for name, count in FILES.items():
        pairs, codes = codes[:count], codes[count:]
        np.save(root / "brec" / f"{name}.npy", np.array(pairs).reshape(-1))
    return root
