"""The table and the plot of ``make bench``."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.workloads import CONTESTANTS

GROWTH = 4.0
"""The height of the plot of growth, in inches."""

COLOURS = {"plain": "#9aa5b1", "batched": "#2b6ca3", "shared": "#c8502d"}


def show(results: dict[str, Any], console: Console) -> None:
    """One table per number of threads, then memory, growth and tasks where they were measured."""
    steps = results.get("steps", ())
    for threads in sorted({row["threads"] for row in steps}):
        console.print(_steps([row for row in steps if row["threads"] == threads], threads))
    if results.get("epochs"):
        console.print(_epochs(results["epochs"]))
    if "megabytes" in results:
        console.print(_memory(results["megabytes"]))
    for row in results.get("growth", ()):
        console.print(
            f"3-regular, {row['nodes']:>7,} {row['features']} nodes: {row['microseconds per node']:.1f} microseconds per node"
        )
    for name, seconds in results.get("tasks", {}).items():
        console.print(f"task {name}: {seconds:.2f} s at most")
    if "qm9" in results:
        found = results["qm9"]
        console.print(
            f"QM9, {found['molecules']:,} molecules: made in {found['make, seconds']:.0f} s (goal: 900), loaded in "
            f"{found['load, seconds']:.2f} s (goal: 10), first batch {found['first batch, seconds']:.2f} s later"
        )


def _steps(rows: list[dict[str, Any]], threads: int) -> Table:
    table = _table(
        f"Milliseconds per training step, threads: {threads}",
        "workload",
        *CONTESTANTS,
        "gain",
        "price",
        "rows",
        "edges",
    )
    table.caption = (
        "gain: batched / shared (at least); price: shared / plain (at most); rows, edges: those that layers compute over "
        "those of a plain step, which is what the price could be"
    )
    for row in rows:
        step, (least, most) = row["milliseconds"], row["goal"] or (None, None)
        gained, paid = row["batched / shared"], row["shared / plain"]
        table.add_row(
            row["workload"],
            *(_milliseconds(step.get(name)) for name in CONTESTANTS),
            "" if gained is None else _marked(gained, least, least is None or gained >= least),
            _marked(paid, most, most is None or paid <= most),
            *(f"{row['bound'][name]:.1f}" if "bound" in row else "" for name in ("rows", "edges")),
        )
    return table


def _milliseconds(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}" if value < 1000 else f"{value:,.0f}"


def _epochs(rows: list[dict[str, Any]]) -> Table:
    headings = ("dataset", "plain", "random", "exact", "random / plain", "exact / plain", "load")
    table = _table("Seconds per epoch of graph classification, one thread", *headings)
    table.caption = "in parentheses: at most; load: seconds of the second one"
    for row in rows:
        price, goal = row["price"], row["goal"]
        prices = [_marked(price[drops], goal[drops], price[drops] <= goal[drops]) for drops in ("random", "exact")]
        loaded = row["second load, seconds"]
        table.add_row(
            row["dataset"],
            *[f"{seconds:.2f}" for seconds in row["seconds"].values()],
            *prices,
            _marked(loaded, 1.0, loaded < 1),
        )
    return table


def _marked(value: float, goal: float | None, good: bool) -> str:
    text = f"{value:.1f}" if goal is None else f"{value:.1f} ({goal:g})"
    return text if good else f"[red]{text}[/]"


def _memory(megabytes: dict[str, dict[str, float]]) -> Table:
    table = _table("Peak memory of training steps, MB", "workload", *CONTESTANTS, "shared/batched")
    for name, peak in megabytes.items():
        share = f"{peak['shared'] / peak['batched']:.2f}" if "batched" in peak else ""
        table.add_row(name, *[f"{peak[each]:.0f}" if each in peak else "" for each in CONTESTANTS], share)
    return table


def _table(title: str, *headings: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", caption_justify="left")
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="right" if number else "left", no_wrap=number > 0)  # narrow: names give way
    return table


def plot(results: dict[str, Any]) -> Figure:
    """Steps as bars, with one thread; and how the time per node grows."""
    rows = [row for row in results["steps"] if row["threads"] == 1]
    height = 0.36 * len(rows) + 1.6
    figure = Figure(figsize=(11, height))
    places = figure.add_gridspec(2, 2, width_ratios=(2.4, 1), height_ratios=(GROWTH, max(height - GROWTH, 0.1)))
    bars, growth = figure.add_subplot(places[:, 0]), figure.add_subplot(places[0, 1])
    for offset, name in enumerate(CONTESTANTS):
        there = [place for place, row in enumerate(rows) if name in row["milliseconds"]]
        values = [rows[place]["milliseconds"][name] / rows[place]["milliseconds"]["plain"] for place in there]
        lines = [place + 0.27 * (offset - 1) for place in there]
        bars.barh(lines, values, 0.25, color=COLOURS[name], label=name)
        for line, value in zip(lines, values, strict=True):
            bars.text(value, line, f" {value:.1f}", va="center", fontsize=7, color=COLOURS[name])
    bars.set_yticks(range(len(rows)), [row["workload"] for row in rows])
    bars.invert_yaxis()
    bars.set_xscale("log")
    bars.set_xticks([0.3, 1, 3, 10, 30], ["0.3", "1", "3", "10", "30"])
    bars.margins(y=0.01)
    bars.set_xlabel("time of a training step, in steps of the plain GNN (one run)")
    bars.legend(frameon=False, loc="lower center", ncols=3, bbox_to_anchor=(0.5, 1.0))
    for features, style in (("alike", "o-"), ("different", "s--")):
        curve = [row for row in results["growth"] if row["features"] == features]
        times = [row["microseconds per node"] for row in curve]
        growth.plot([row["nodes"] for row in curve], times, style, color=COLOURS["shared"], label=f"nodes {features}")
    growth.legend(frameon=False)
    growth.set_xscale("log")
    growth.set_ylim(0, 1.2 * max(row["microseconds per node"] for row in results["growth"]))
    growth.set_xlabel("nodes of a 3-regular graph")
    growth.set_ylabel("microseconds per node, all 1-dropouts")
    for ax in (bars, growth):
        ax.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    return figure
