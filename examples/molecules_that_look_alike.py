"""How many molecules of QM9 a GNN takes for one another, and what dropouts and distances change.

Colour refinement on the bonds (the 1-GNN's graph without its distances), the same over all dropouts of one atom, and on the
complete graph with distances rounded to 0.1 Angstrom (nearly what the MPNN sees). An edge with a kind is a node of its own
between its ends, so a layer of a GNN is two rounds. Beside it how many molecules have the constitution of another: those no graph
of bonds can part. Run it with ``python examples/molecules_that_look_alike.py``; it takes a minute or two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator

import numpy as np
from rdkit import Chem, rdBase
from rich.progress import track

from dropgnn.data.qm9.dataset import QM9
from dropgnn.theory.views import Structure, dropped_sets, view_words

LAYERS = 3
"""Of the paper's 1-GNN and MPNN."""
ROUNDING = 0.1
"""Angstrom."""


class Molecules:
    """The molecules of QM9 as coloured graphs."""

    def __init__(self, qm9: QM9) -> None:
        self.qm9 = qm9
        kinds_of_atoms = np.unique(qm9.x, axis=0, return_inverse=True)[1].reshape(-1)
        self.atoms = np.split(kinds_of_atoms, np.cumsum(qm9.atoms)[:-1])
        self.bonds = np.split(np.asarray(qm9.bonds, np.int64), np.cumsum(qm9.many_bonds)[:-1])
        self.kinds = np.split(np.asarray(qm9.kinds, np.int64), np.cumsum(qm9.many_bonds)[:-1])
        self.position = np.split(np.asarray(qm9.position), np.cumsum(qm9.atoms)[:-1])

    def __len__(self) -> int:
        return len(self.qm9)

    def with_bonds(self, number: int) -> Structure:
        return graph_of(self.atoms[number], self.bonds[number], self.kinds[number])

    def with_distances(self, number: int) -> Structure:
        place = self.position[number]
        pairs = np.stack(np.triu_indices(len(place), k=1), axis=1)
        distance = np.linalg.norm(place[pairs[:, 0]] - place[pairs[:, 1]], axis=1)
        return graph_of(self.atoms[number], pairs, np.rint(distance / ROUNDING).astype(np.int64))

    def constitution(self, number: int) -> str:
        """Who is bonded to whom, without handedness or which side of a double bond: a canonical SMILES."""
        with rdBase.BlockLogs():
            return str(Chem.MolToSmiles(Chem.MolFromSmiles(self.qm9.smiles[number]), isomericSmiles=False))


def graph_of(atoms: np.ndarray, pairs: np.ndarray, kinds: np.ndarray) -> Structure:
    """A node per atom and then a node per pair, joined to both atoms; colours of the two do not meet."""
    number = np.arange(len(atoms), len(atoms) + len(pairs))
    edges = np.concatenate([np.stack([number, pairs[:, end]]) for end in (0, 1)], axis=1)
    colour = np.concatenate([2 * atoms, 2 * kinds + 1])
    return Structure.of(np.concatenate([edges, edges[::-1]], axis=1), colour.size, colour)


def seen(graph: Structure, layers: int = LAYERS) -> Hashable:
    """What a GNN sees of a graph: the colours of its nodes."""
    return int(view_words(graph, dropped_sets(graph, 0), depth=2 * layers).copy[0])


def seen_with_dropouts(graph: Structure, atoms: int, layers: int = LAYERS) -> Hashable:
    """What it sees over all dropouts of one atom or none, dropped atoms marked: for every node its colours in all copies."""
    one = np.arange(atoms, dtype=np.int32).reshape(-1, 1)
    views = [
        view_words(graph, sets, depth=2 * layers, mode="zero").node.tolist() for sets in (dropped_sets(graph, 0), one)
    ]
    return tuple(sorted(zip(*views, strict=True)))


def alike(looks: Iterable[tuple[int, Hashable]]) -> list[int]:
    """The molecules that look like another."""
    look_of = dict(looks)
    times = Counter(look_of.values())
    return [number for number, look in look_of.items() if times[look] > 1]


def main() -> None:
    molecules = Molecules(QM9.load())

    def every(title: str) -> Iterator[int]:
        return iter(track(range(len(molecules)), title))

    on_bonds = alike((number, seen(molecules.with_bonds(number))) for number in every("bonds"))
    with_dropouts = alike(
        (number, seen_with_dropouts(molecules.with_bonds(number), len(molecules.atoms[number]))) for number in on_bonds
    )
    same = alike((number, molecules.constitution(number)) for number in on_bonds)
    at_distances = alike((number, seen(molecules.with_distances(number), layers=1)) for number in every("distances"))
    print(f"{len(molecules):,} molecules; of these look like another to")
    print(f"  {len(on_bonds):4}  {LAYERS} layers on the bonds")
    print(f"  {len(with_dropouts):4}  {LAYERS} layers on the bonds with dropouts of one atom")
    print(f"  {len(same):4}  whatever looks at bonds only: the constitution is the same")
    print(f"  {len(at_distances):4}  one layer on all pairs with distances, rounded to {ROUNDING} Angstrom")


if __name__ == "__main__":
    main()
