"""Curves of studies as pictures: the mean over seeds and tests, and a band that holds nine tenths of them."""

from __future__ import annotations

from itertools import cycle

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

from dropgnn.experiments.summary import Curve, Figure
from dropgnn.report.pictures import INK, SOFT

COLOURS = ("#2b6ca3", "#c8502d", "#3d8a5f")
BAND = (5, 95)


def draw(figure: Figure) -> Picture:
    """One small picture per curve, side by side: bands that overlap could not be read."""
    with mpl.rc_context({"font.size": 11, "axes.edgecolor": SOFT, "text.color": INK, "axes.labelcolor": INK}):
        picture = Picture(figsize=(10, 3.1), layout="constrained")
        axes = picture.subplots(1, len(figure.curves), sharey=True, squeeze=False)[0]
        for ax, curve, colour in zip(axes, figure.curves, cycle(COLOURS), strict=False):
            _draw(ax, curve, colour, steps=figure.steps)
            ax.set_xlabel(figure.x)
        axes[0].set_ylabel("test accuracy")
    return picture


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
    ax.set_title(curve.name, color=colour, fontsize=12)
    ax.set_ylim(0.0, 1.04)
    ax.grid(axis="y", color="#e4e8ec", linewidth=0.8)
    ax.spines[["top", "right"]].set_visible(False)
