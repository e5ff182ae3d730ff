"""Writes ``docs/layers.md``: every layer class of PyG, and what sharing knows of it."""

from __future__ import annotations

from pathlib import Path

from torch_geometric.nn import conv as namespace

from dropgnn.engine.intercept import install
from dropgnn.engine.rules.pyg_layers import NOT_SHARED, OBSTACLES, SEVERAL_HOPS
from dropgnn.engine.rules.rule import RULES

OUT = Path(__file__).with_name("layers.md")

HEAD = """# Layers of PyG, and how far they look

Equal rows go through a layer once if a rule says how far its class looks, and what it is given beside rows stems from the
inputs of the encoder. A class derived from these has no rule, unless `dropgnn.nn.share_layer` gives it one. Written by
`python docs/make_layers.py`; `tests/engine/test_pyg_layers.py` compares each with computing all copies.

Whatever the class, a layer is run copy by copy, and so is what follows, where it drops at random while training, sends against
the direction of edges (`flow`), has hooks or a `forward` of its own, aggregates by what looks at order (lstm, sort, median),
is given two sets of rows, `size=`, other edges than those that came in, or weights made from rows of all copies, or returns
a tuple.

| class | looks at |
|---|---|
"""

SPECIAL = {
    "GINConv": "its in-edges; sums in a compiled loop",
    "GINEConv": "its in-edges; sums in a compiled loop, features once per kind of edge",
    "GraphConv": "its in-edges; sums in a compiled loop, linear maps in front of them",
    "SAGEConv": "its in-edges; means in a compiled loop, linear maps in front of them",
    "GCNConv": "its in-edges and degrees after dropping, which are part of the initial colour",
}


def table() -> str:
    """The whole page."""
    install()
    lines = []
    for name in sorted(namespace.__all__):
        if name in NOT_SHARED:
            lines.append(f"| `{name}` | run copy by copy: {NOT_SHARED[name]} |")
        elif getattr(namespace, name) in RULES:
            several = "as many hops as it is set to, and degrees where it normalises by them"
            found = SPECIAL.get(name, several if name in SEVERAL_HOPS and name not in OBSTACLES else "its in-edges")
            lines.append(f"| `{name}` | {found}{WITH_OBSTACLES.get(name, '')} |")
    return HEAD + "\n".join(lines) + "\n"


WITH_OBSTACLES = {
    "ChebConv": ", with K = 1; else it is run copy by copy: it looks at degrees of the whole graph",
    "SuperGATConv": ", in evaluation; while training it draws edges at random, and is run copy by copy",
    "EGConv": " and degrees with `symnorm`; run copy by copy where it adds loops without it",
    "AntiSymmetricConv": ", as often as it repeats; as far as the layer inside has a rule",
}


def main() -> None:
    OUT.write_text(table(), encoding="utf-8")


if __name__ == "__main__":
    main()
