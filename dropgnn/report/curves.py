"""Curves of studies as pictures: the mean over seeds and tests, and a band that holds nine tenths of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture
from matplotlib.ticker import PercentFormatter

from dropgnn.experiments.summary import Curve, Figure
from dropgnn.report.pictures import INK, SOFT

COLOURS = ("#2b6ca3", "#c8502d", "#3d8a5f")
BAND = (5, 95)


def draw(figure: Figure) -> Picture:
    """One small picture per panel, side by side. A curve that is alone has its band: bands that overlap could not be read."""
    with mpl.rc_context({"font.size": 11, "axes.edgecolor": SOFT, "text.color": INK, "axes.labelcolor": INK}):
        panels = figure.panels
        picture = Picture(figsize=(min(10.0, 3.0 + 2.4 * len(panels)), 3.1), layout="constrained")
        names = dict.fromkeys(curve.name for curve in figure.curves)
        colours = dict(zip(names, cycle(COLOURS), strict=False))
        axes = picture.subplots(1, len(panels), sharey=not figure.shares_panels, squeeze=False)[0]
        for ax, (name, curves) in zip(axes, panels.items(), strict=True):
            if figure.shares_panels:
                _draw_together(ax, curves, colours)
            else:
                _draw(ax, curves[0], colours[name], steps=figure.steps)
            ax.set_title(name, color=colours.get(name, INK), fontsize=12)
            ax.set_xlabel(figure.x)
            ax.grid(axis="y", color="#e4e8ec", linewidth=0.8)
            ax.spines[["top", "right"]].set_visible(False)
        axes[0].set_ylabel("test accuracy")
        if figure.shares_panels:
            named = {line.get_label(): line for ax in axes for line in ax.get_legend_handles_labels()[0]}
            picture.legend(handles=list(named.values()), loc="outside upper center", ncols=len(named), frameon=False)
    return picture


def _draw_together(ax: Axes, curves: Sequence[Curve], colours: Mapping[str, str]) -> None:
    """Means alone, and where a curve has a level, a dotted line across in its colour."""
    for curve in curves:
        there = [(x, np.mean(values)) for x, values in curve.points if values]
        colour = colours[curve.name]
        ax.plot(*zip(*there, strict=True), color=colour, marker="o", markersize=3, linewidth=1.6, label=curve.name)
        if curve.level is not None:
            ax.axhline(curve.level, color=colour, linestyle=":", linewidth=1.4)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))


def _draw(ax: Axes, curve: Curve, colour: str, *, steps: bool) -> None:
    xs = [x for x, _ in curve.points]
    place_of = {x: float(number) if steps else x for number, x in enumerate(xs)}
    there = [(place_of[x], values) for x, values in curve.points if values]
    if there:
        places, means = [place for place, _ in there], [np.mean(values) for _, values in there]
        low, high = np.transpose([np.percentile(values, BAND) for _, values in there])
        ax.fill_between(places, low, high, color=colour, alpha=0.18, linewidth=0)
        ax.plot(places, means, color=colour, marker="o", markersize=4, linewidth=1.8)
    if steps:
        ax.set_xticks(list(place_of.values()), [f"{x:g}" for x in xs], rotation=45)
    if curve.mark is not None:
        place = np.interp(curve.mark, xs, list(place_of.values()))
        ax.axvline(float(place), color=SOFT, linestyle=":", linewidth=1.2)
        ax.annotate(
            f"p = {curve.mark:.3g}",
            (float(place), 0.02),
            xycoords=("data", "axes fraction"),
            xytext=(4, 0),
            textcoords="offset points",
            color=SOFT,
            fontsize=9,
        )
    ax.set_ylim(0.0, 1.04)
