"""The page of ``dropgnn demo``: why dropping nodes helps, in three pictures and a table."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from dropgnn.experiments.beyond_wl import METHODS
from dropgnn.experiments.demo import EPOCHS, TITLES
from dropgnn.experiments.summary import Cell
from dropgnn.report import html
from dropgnn.report.pictures import PAIR, U, law_picture, pair_picture, runs_picture, svg
from dropgnn.theory.paper.example1 import view_law

P = Fraction(1, 8)
SHOWN = {
    "two 4-cycles": [(), (1,), (2,), (1, 5)],
    "8-cycle": [(), (1,), (2,), (2, 6)],
}
"""Runs worth looking at: nothing dropped, a neighbour, a node two steps away, two nodes."""


def demo_page(table: Mapping[str, Mapping[str, Cell]], *, seeds: int, seconds: float) -> str:
    """The whole page."""
    laws = {name: view_law(neighbors, U, P) for name, neighbors in PAIR.items()}
    only = float(laws["8-cycle"][8])
    gap = float(laws["two 4-cycles"][7]) / float(laws["8-cycle"][7])
    body = [
        "<h1>What a graph neural network cannot see, and how dropping nodes helps</h1>",
        html.paragraph(
            "A message-passing GNN cannot tell two 4-cycles from an 8-cycle. DropGNN runs the same GNN many times, each "
            "time with a few nodes missing, and looks at all the results together.",
            lead=True,
        ),
        "<h2>Two graphs that look the same</h2>",
        html.figure(
            svg(pair_picture()),
            "In both graphs every node has two neighbours, which have two neighbours each, and so on. However many layers "
            "a GNN has, the node <em>u</em> receives the same messages left and right, so its embedding is the same: this "
            "is the limit of the 1-WL test.",
        ),
        "<h2>Some runs with nodes dropped</h2>",
        html.paragraph(
            "Take the simplest GNN: every node starts with the number 1 and in each of two layers adds its neighbours' "
            "numbers to its own. Without drops <em>u</em> ends with 9 in both graphs. Crossed nodes are dropped in that run."
        ),
        html.figure(
            svg(runs_picture(SHOWN)),
            "Dropping a node two steps away (third column) leaves <em>u</em> with 7 in a 4-cycle, where both of its "
            "neighbours lose the same node, and with 8 in the 8-cycle, where only one of them does.",
        ),
        "<h2>The two distributions of what a node sees</h2>",
        html.figure(
            svg(law_picture(laws)),
            f"The exact probability of every value at <em>u</em> over all possible drops, at p = {P}, given that u itself "
            f"stays. An 8 occurs in {only:.0%} of the runs on the 8-cycle and never on the 4-cycles; a 7 is {gap:.0f} times "
            "as likely on the 4-cycles. Over many runs the averages differ, and so a GNN followed by an average over runs "
            "can tell the graphs apart.",
        ),
        "<h2>What training makes of it</h2>",
        html.paragraph(
            f"Test accuracy of one and the same GIN with four kinds of help, over {seeds} seeds each (mean and deviation). "
            f"The paper trains longer: 1,000 epochs and 10 seeds, against {' and '.join(map(str, EPOCHS.values()))} epochs "
            "here. Chance is 0.50."
        ),
        _results(table),
        html.paragraph(
            "Random IDs and ports let a GNN memorise the training graphs, not recognise new ones. Dropouts look alike in "
            "training and in testing, so what is learned carries over."
        ),
        f"<footer>Made by <code>dropgnn demo</code> in {seconds:.0f} seconds. Paper: Papp, Martinkus, Faber, Wattenhofer, "
        "<em>DropGNN: Random Dropouts Increase the Expressiveness of Graph Neural Networks</em>, NeurIPS 2021; its values "
        "are those of Table 1.</footer>",
    ]
    return html.page("DropGNN: what dropping nodes reveals", "\n".join(body))


def _results(table: Mapping[str, Mapping[str, Cell]]) -> str:
    head = ["method"] + [heading for task in table for heading in (TITLES[task], "paper")]
    rows = []
    for method, name in METHODS.items():
        cells = [str(value) for task in table for value in (table[task][method], table[task][method].paper)]
        rows.append([name if method == "gin" else f"GIN {name}", *cells])
    return html.scrolling(html.table(head, rows, soft=(2, 4), best=list(METHODS).index("dropout")))
