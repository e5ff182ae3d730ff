"""The picture of a verdict: the telling dropout in both graphs."""

from __future__ import annotations

import networkx as nx
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dropgnn.report.pictures import COLOURS, FRAME, INK, SOFT, Position, draw_graph
from dropgnn.theory.distinguish import Verdict
from dropgnn.theory.views import Structure

SIDES = dict(zip("AB", COLOURS.values(), strict=True))


def verdict_picture(verdict: Verdict, a: Structure, b: Structure) -> Figure:
    """A and B side by side; where the telling view occurs, the nodes whose drop shows it are crossed out."""
    figure = Figure(figsize=(9, 4))
    for number, (ax, graph) in enumerate(zip(figure.subplots(1, 2), (a, b), strict=True)):
        _draw(ax, verdict, graph, number)
    return figure


def _draw(ax: Axes, verdict: Verdict, graph: Structure, number: int) -> None:
    name, colour = list(SIDES.items())[number]
    neighbors = [graph.neighbor[first:last].tolist() for first, last in zip(graph.ptr[:-1], graph.ptr[1:], strict=True)]
    telling = verdict.telling
    dropped = telling.example[number] if telling is not None else None
    looks = {telling.nodes[number]: "u"} if telling is not None and telling.nodes is not None else {}
    size = min(230.0, 5000.0 / max(graph.num_nodes, 1))
    draw_graph(ax, neighbors, _layout(neighbors), colour=colour, labels=looks, dropped=dropped or (), size=size)
    ax.text(0, FRAME[1] + 0.12, name, color=colour, fontsize=13, ha="center", va="bottom")
    ax.text(0, -FRAME[1] - 0.12, _caption(verdict, number), color=SOFT, fontsize=10, ha="center", va="top")
    ax.title.set_color(INK)


def _caption(verdict: Verdict, number: int) -> str:
    telling = verdict.telling
    if verdict.k is None:
        return f"no dropout of up to {verdict.tried} node{'' if verdict.tried == 1 else 's'} tells them apart"
    nodes = "1 node" if verdict.k == 1 else f"{verdict.k} nodes"
    if telling is None:
        return "told apart without any dropout" if verdict.wl else f"told apart by dropouts of {nodes}"
    times = telling.times[number]
    if times == 0:
        return "no dropout shows this view here"
    if telling.nodes is not None:  # what one node sees is counted over smaller dropouts, too
        nodes = f"up to {nodes}"
    return f"the telling view, shown by {times} dropout{'s' if times > 1 else ''} of {nodes}"


def _layout(neighbors: list[list[int]]) -> list[Position]:
    """Components next to each other, each where its edges pull it, scaled to the frame."""
    graph = nx.Graph([(node, other) for node, heard in enumerate(neighbors) for other in heard])
    graph.add_nodes_from(range(len(neighbors)))
    parts = sorted(nx.connected_components(graph), key=lambda part: (-len(part), min(part)))
    places: dict[int, Position] = {}
    columns = max(len(parts), 1)
    for number, part in enumerate(parts):
        inner = _spread(graph.subgraph(sorted(part)))
        half = FRAME[0] * 0.9 / columns
        height = min(FRAME[1] * 0.9, 2 * half)
        centre = (2 * number + 1) * FRAME[0] / columns - FRAME[0]
        places |= {node: (centre + half * float(x), height * float(y)) for node, (x, y) in inner.items()}
    return [places[node] for node in range(len(neighbors))]


def _spread(graph: nx.Graph) -> dict[int, Position]:
    """Places in [-1, 1]; starting from a drawing without crossings, where there is one, few crossings come back."""
    if len(graph) == 1:
        return {next(iter(graph)): (0.0, 0.0)}
    planar, _ = nx.check_planarity(graph)
    return nx.kamada_kawai_layout(graph, pos=nx.planar_layout(graph) if planar else None)
