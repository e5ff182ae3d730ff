"""What commands that train have in common: an option, progress bars, trials."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from dropgnn.cli.names import PRESETS, choices

if TYPE_CHECKING:
    from dropgnn.experiments.runner import Together
    from dropgnn.experiments.store import Store

Preset = Annotated[
    str,
    typer.Option(
        help=f"Where p and the loss come from, {choices(PRESETS)}: the paper's text, its code, or the text without the "
        "auxiliary loss."
    ),
]
"""An option of every command that trains."""


def progress_bar(console: Console, unit: str) -> Progress:
    """A bar with counts and the time left, gone when it is done."""
    columns = (TextColumn(unit), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(elapsed_when_finished=True))
    return Progress(*columns, console=console, transient=True, speed_estimate_period=600)


def run_with_bar(
    work: Callable[..., Mapping[str, Any]],
    trials: Sequence[Any],
    store: Store,
    *,
    jobs: int,
    unit: str,
    cluster: str | None = None,
    together: Together[Any] | None = None,
    size: Callable[[Any], int] = lambda trial: 1,
) -> None:
    """Run what is missing and keep it.

    Args:
        work, trials, store, jobs, cluster, together: As for :func:`~dropgnn.experiments.runner.run_missing`.
        unit: What the bar counts.
        size: How many of them a trial has: epochs, say, of which trials bring news as they go.
    """
    from dropgnn.experiments.runner import run_missing
    from dropgnn.training.parallel import Finished

    console = Console(stderr=True)
    left = [0 if store.get(trial) is not None else size(trial) for trial in trials]
    total = sum(map(size, trials))
    news_of = run_missing(work, trials, store, jobs=jobs, cluster=cluster, together=together)
    try:
        with progress_bar(console, unit) as bar, closing(news_of):
            task = bar.add_task(unit, total=total, completed=total - sum(left))
            for news in news_of:
                steps = left[news.number] if isinstance(news, Finished) else min(news.steps, left[news.number])
                left[news.number] -= steps
                bar.advance(task, steps)
    except KeyboardInterrupt as interrupt:
        done = sum(store.get(trial) is not None for trial in trials)
        console.print(f"interrupted: {done} of {len(trials)} are done and kept; run again to go on", highlight=False)
        raise typer.Exit(130) from interrupt
