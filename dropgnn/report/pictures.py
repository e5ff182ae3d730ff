"""Pictures of graphs, dropouts and what a node sees, as SVG text."""

from __future__ import annotations

import io
import math
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from dropgnn.theory.paper.example1 import EIGHT_CYCLE, TWO_FOUR_CYCLES, view

INK, SOFT, GONE, PANEL = "#1d2733", "#5b6876", "#c3cad2", "#f2f4f7"
COLOURS = {"two 4-cycles": "#2b6ca3", "8-cycle": "#c8502d"}
PAIR = {"two 4-cycles": TWO_FOUR_CYCLES, "8-cycle": EIGHT_CYCLE}
U = 0

FRAME = (1.85, 1.25)
"""Half the width and height around every drawn graph, the same for all so that they line up."""

Position = tuple[float, float]


def svg(figure: Figure) -> str:
    """A figure as SVG that needs no font and is the same every time."""
    text = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "path", "svg.hashsalt": "dropgnn"}):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None}, bbox_inches="tight")
    return text.getvalue()[text.getvalue().index("<svg") :]


def pair_picture() -> Figure:
    """The two graphs of Example 1 side by side."""
    figure = Figure(figsize=(8, 2.9))
    for ax, (name, neighbors) in zip(figure.subplots(1, 2), PAIR.items(), strict=True):
        draw_graph(ax, neighbors, _layout(neighbors), colour=COLOURS[name], labels={U: "u"})
        ax.text(0, -FRAME[1] - 0.15, name, color=COLOURS[name], fontsize=13, ha="center", va="top")
    return figure


def runs_picture(dropped: Mapping[str, Sequence[Collection[int]]]) -> Figure:
    """Some dropout runs of both graphs, one row each, with the value u sees below every run."""
    columns = max(map(len, dropped.values()))
    figure = Figure(figsize=(10, 4.2))
    grid = figure.subplots(len(dropped), columns, squeeze=False)
    figure.subplots_adjust(hspace=0.3, wspace=0.04)
    for row, (name, copies) in zip(grid, dropped.items(), strict=True):
        for ax, gone in zip(row, copies, strict=True):
            draw_graph(
                ax, PAIR[name], _layout(PAIR[name]), colour=COLOURS[name], labels={U: "u"}, dropped=gone, size=130
            )
            ax.add_patch(Rectangle((-FRAME[0], -FRAME[1]), 2 * FRAME[0], 2 * FRAME[1], color=PANEL, zorder=0))
            seen = f"u sees {view(PAIR[name], U, gone)}"
            ax.text(0, -FRAME[1] - 0.05, seen, color=INK, fontsize=12, ha="center", va="top")
        row[0].text(-FRAME[0] - 0.1, 0, name, rotation=90, ha="right", va="center", color=COLOURS[name], fontsize=12)
    return figure


def law_picture(laws: Mapping[str, Mapping[int, Fraction]]) -> Figure:
    """The distributions of what u sees, side by side for each value."""
    figure = Figure(figsize=(8.5, 3.6))
    ax = figure.subplots()
    values = sorted({value for law in laws.values() for value in law}, reverse=True)
    width = 0.4
    for number, (name, law) in enumerate(laws.items()):
        places = [index + (number - 0.5) * width for index in range(len(values))]
        heights = [float(law.get(value, 0)) for value in values]
        ax.bar(places, heights, width * 0.94, color=COLOURS[name], label=name)
        for place, height in zip(places, heights, strict=True):
            text = f"{height:.2f}" if height >= 0.005 else ("never" if height == 0 else "<0.01")
            ax.text(place, height + 0.012, text, ha="center", va="bottom", color=COLOURS[name], fontsize=9)
    ax.set_xticks(range(len(values)), [str(value) for value in values])
    ax.set_xlabel("value at u after two layers", color=INK)
    ax.set_ylabel("probability in one run", color=INK)
    ax.set_ylim(0, 0.08 + max(float(p) for law in laws.values() for p in law.values()))
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(colors=SOFT)
    ax.legend(frameon=False, loc="upper right")
    return figure


def draw_graph(
    ax: Axes,
    neighbors: Sequence[Sequence[int]],
    layout: Sequence[Position],
    *,
    colour: str,
    labels: Mapping[int, str],
    dropped: Collection[int] = (),
    size: float = 230,
) -> None:
    """One graph; dropped nodes are crossed out and their edges dotted."""
    for node, heard in enumerate(neighbors):
        for other in heard:
            if node < other:
                gone = node in dropped or other in dropped
                (x0, y0), (x1, y1) = layout[node], layout[other]
                ax.plot([x0, x1], [y0, y1], ":" if gone else "-", color=GONE if gone else INK, linewidth=1.6, zorder=1)
    for node, (x, y) in enumerate(layout):
        if node in dropped:
            ax.scatter([x], [y], s=size, facecolor="white", edgecolor=GONE, linewidth=1.4, zorder=2)
            ax.scatter([x], [y], s=size * 0.45, marker="x", color=SOFT, linewidth=1.6, zorder=3)
        else:
            ax.scatter(
                [x], [y], s=size, color=INK if node in labels else colour, edgecolor="white", linewidth=1.2, zorder=2
            )
        if node in labels:
            ax.text(
                x,
                y,
                labels[node],
                color="white",
                ha="center",
                va="center_baseline",
                fontsize=size**0.5 * 0.75,
                zorder=4,
            )
    ax.set_aspect("equal")
    ax.set_xlim(-FRAME[0], FRAME[0])
    ax.set_ylim(-FRAME[1], FRAME[1])
    ax.axis("off")


def _layout(neighbors: Sequence[Sequence[int]]) -> list[Position]:
    """Cycles of equal length as circles next to each other, their first node at the top left."""
    components = _components(neighbors)
    places: dict[int, Position] = {}
    for number, nodes in enumerate(components):
        radius = math.sqrt(len(nodes) / len(neighbors))
        centre = number * 2.0 - (len(components) - 1)
        for index, node in enumerate(nodes):
            angle = 0.75 * math.pi - 2 * math.pi * index / len(nodes)
            places[node] = (centre + radius * math.cos(angle), radius * math.sin(angle))
    return [places[node] for node in range(len(neighbors))]


def _components(neighbors: Sequence[Sequence[int]]) -> list[list[int]]:
    """The nodes of each cycle, walked around."""
    cycles, seen = [], set()
    for start in range(len(neighbors)):
        if start in seen:
            continue
        cycle, node = [], start
        while node not in seen:
            seen.add(node)
            cycle.append(node)
            node = next((other for other in sorted(neighbors[node]) if other not in seen), node)
        cycles.append(cycle)
    return cycles
