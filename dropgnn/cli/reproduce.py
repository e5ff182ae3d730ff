"""``dropgnn reproduce``: one command per table or figure, resumable."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from dropgnn.cli.running import run_with_bar


def reproduce(
    study: Annotated[str, typer.Argument(help="table1, figure-runs, figure-p, modes, samplers or aggregators.")],
    preset: Annotated[
        str, typer.Option(help="p and loss as in the text (paper) or in its code (published).")
    ] = "paper",
    quick: Annotated[bool, typer.Option("--quick", help="Two seeds and few epochs, for a first look.")] = False,
    tasks: Annotated[list[str] | None, typer.Option("--task", help="Only this task; may be given again.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Trainings per cell; else 10.")] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Epochs per training; else 1,000.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes to use, one thread each.")] = 2,
    cluster: Annotated[str | None, typer.Option(help="Run on Ray: 'local', or the address of a cluster.")] = None,
    work: Annotated[Path, typer.Option(help="Where finished trials are kept; run again to go on.")] = Path("runs"),
    results: Annotated[Path, typer.Option(help="Where the study's file is written, for dropgnn report.")] = Path(
        "results"
    ),
) -> None:
    """Train what a table or figure of the paper needs, as far as it is missing, and print it beside the paper's values."""
    from dataclasses import replace

    from dropgnn.data.synthetic import SYNTHETIC
    from dropgnn.errors import InvalidArgument
    from dropgnn.experiments import beyond_wl
    from dropgnn.experiments.archive import collect, save_archive
    from dropgnn.experiments.store import Store
    from dropgnn.experiments.studies import FULL, QUICK, STUDIES
    from dropgnn.report.terminal import show
    from dropgnn.training.presets import PRESETS

    if results.exists() and not results.is_dir():
        raise InvalidArgument("results", "must be a folder", got=results)
    chosen = STUDIES[study]
    PRESETS[preset]  # an unknown name is an error now
    scale = replace(QUICK if quick else FULL, preset=preset)
    scale = replace(scale, seeds=seeds or scale.seeds, epochs=epochs or scale.epochs)
    for task in tasks or ():
        SYNTHETIC[task]
    trials = [trial for trial in chosen.trials(scale) if not tasks or trial.task in tasks]
    store = Store(work, beyond_wl.EXPERIMENT)
    told = [f"dropgnn reproduce {study}", f"--preset {preset}" * (preset != "paper"), "--quick" * quick]
    told += [f"--task {task}" for task in tasks or ()]
    told += [f"--seeds {seeds}" * (seeds is not None), f"--epochs {epochs}" * (epochs is not None)]
    name = "-".join(filter(None, [study, preset * (preset != "paper"), "quick" * quick, *(tasks or ())]))
    name += f"-{seeds}-seeds" * (seeds is not None) + f"-{epochs}-epochs" * (epochs is not None)
    interrupted: typer.Exit | None = None
    try:
        run_with_bar(
            beyond_wl.run, trials, store, jobs=jobs, cluster=cluster, unit="epochs", size=lambda trial: trial.epochs
        )
    except typer.Exit as stopped:  # an interrupted study is a partial one
        interrupted = stopped
    archive = collect(name, study, trials, store, " ".join(filter(None, told)))
    if not save_archive(results, archive):
        Console(stderr=True).print(f"{results / name}.json has more trials and is left as it is", highlight=False)
    if interrupted is not None:
        raise interrupted
    show(Console(), chosen.summarize(archive.found))
