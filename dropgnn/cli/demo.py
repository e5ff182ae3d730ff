"""``dropgnn demo``: five methods on two tasks, one table and one page."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from dropgnn.cli.files import output_file

if TYPE_CHECKING:
    from dropgnn.experiments.beyond_wl import Result, Trial
    from dropgnn.experiments.summary import Cell


def demo(
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("demo.html"),
    seeds: Annotated[int, typer.Option(min=1, help="Trainings per method and task.")] = 3,
    jobs: Annotated[int, typer.Option(min=1, help="Processes to use, one thread each.")] = 2,
) -> None:
    """Train GIN, three rivals and DropGIN on Limits 1 and 4-cycles; print a table and write a page with pictures."""
    output_file("out", out)
    started = time.perf_counter()
    console = Console()
    console.print("Training the same GIN five ways on two tasks that 1-WL cannot solve.", highlight=False)
    from dropgnn.experiments.demo import EPOCHS

    table = _train(console, seeds, jobs)
    console.print(_render(table, seeds))
    epochs = " and ".join(map(str, EPOCHS.values()))
    console.print(f"Ours: p = 2/(1 + m), {epochs} epochs, decaying learning rate.", style="dim", highlight=False)

    from dropgnn.report.demo import demo_page

    out.write_text(demo_page(table, seeds=seeds, seconds=time.perf_counter() - started), encoding="utf-8")
    console.print(
        f"{time.perf_counter() - started:.0f} s. Why it works, in pictures: [bold]{escape(str(out))}[/]",
        highlight=False,
    )


def _train(console: Console, seeds: int, jobs: int) -> dict[str, dict[str, Cell]]:
    from dropgnn.experiments.beyond_wl import METHODS, run
    from dropgnn.experiments.demo import TITLES, summarize, trials
    from dropgnn.training.parallel import Finished, spread

    planned = trials(seeds)
    results: dict[Trial, Result] = {}
    left = [trial.epochs for trial in planned]
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("epochs"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        bars = {}
        for task, title in TITLES.items():
            for method, name in METHODS.items():
                total = sum(trial.epochs for trial in planned if _row(trial) == (task, method))
                bars[task, method] = progress.add_task(f"{title:<9} {name:<16}", total=total)
        for news in spread(run, planned, jobs=jobs):
            trial = planned[news.number]
            if isinstance(news, Finished):
                results[trial] = news.result
            steps = left[news.number] if isinstance(news, Finished) else news.steps
            left[news.number] -= steps
            progress.advance(bars[_row(trial)], steps)
    return summarize(results)


def _row(trial: Trial) -> tuple[str, str]:
    return trial.task, trial.method


def _render(table: dict[str, dict[str, Cell]], seeds: int) -> Table:
    from dropgnn.experiments.beyond_wl import METHODS
    from dropgnn.experiments.demo import TITLES

    out = Table(
        box=box.SIMPLE_HEAD,
        title=f"Test accuracy, {seeds} seeds (paper: 10 seeds, 1,000 epochs)",
        title_justify="left",
    )
    out.add_column("method")
    for task in table:
        out.add_column(TITLES[task], justify="right")
        out.add_column("paper", justify="right", style="dim")
    for method, name in METHODS.items():
        texts = [str(value) for task in table for value in (table[task][method], table[task][method].paper)]
        out.add_row(name if method == "gin" else f"GIN {name}", *texts, style="bold" if method == "dropout" else None)
    return out
