"""A study from the command line: what is missing of it is run, and what came out is kept and shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from dropgnn.cli.files import output_folder
from dropgnn.cli.running import run_with_bar
from dropgnn.errors import MissingExtra
from dropgnn.training.address import check_address


def check_places(work: Path, results: Path, cluster: str | None) -> None:
    """Check where a study's trials and its file are to be kept, and that Ray is there where it is wanted."""
    output_folder("work", work)
    output_folder("results", results)
    if cluster is not None:
        check_address(cluster)
        if find_spec("ray") is None:
            raise MissingExtra("Ray", "cluster")


def run_study(
    study: str,
    trials: Sequence[Any],
    options: dict[str, Any],
    *,
    jobs: int,
    cluster: str | None,
    work: Path,
    results: Path,
    adopt: bool,
    training: Callable[..., Mapping[str, Any]] | None = None,
) -> None:
    """Run what is missing, write the study's file and print its tables. Options that are ``None`` were not given."""
    from dropgnn.errors import TrialsFailed
    from dropgnn.experiments import archive as archives
    from dropgnn.experiments.store import Store
    from dropgnn.experiments.studies import STUDIES
    from dropgnn.report.terminal import show

    chosen = STUDIES[study]
    store = Store(work, chosen.experiment.EXPERIMENT, getattr(chosen.experiment, "belongs", None))
    told, name = _told(options)
    stopped: typer.Exit | TrialsFailed | None = None
    if adopt:
        adopted = archives.adopt(results, study, trials, store)
        Console(stderr=True).print(f"{adopted} trials taken from {results}", highlight=False, markup=False)
    try:
        run_with_bar(
            training or chosen.experiment.run,
            trials,
            store,
            jobs=jobs,
            cluster=cluster,
            together=None if training else getattr(chosen.experiment, "TOGETHER", None),
            unit="epochs",
            size=lambda trial: trial.epochs,
        )
    except (typer.Exit, TrialsFailed) as problem:  # interrupted or not, what is done is a study, too
        stopped = problem
    archive = archives.collect(
        "-".join([study, *name]), study, trials, store, " ".join(["dropgnn reproduce", study, *told])
    )
    if not archives.save_archive(results, archive):
        Console(stderr=True).print(
            f"{results / archive.name}.json has more trials and is left as it is", highlight=False, markup=False
        )
    if not isinstance(stopped, typer.Exit):
        show(Console(), chosen.summarize(archive.found))
    if stopped is not None:
        raise stopped


def _told(options: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The options as they were typed, and as they are part of a file's name."""
    typed, named = [], []
    for option, value in options.items():
        if value is None or value is False:
            continue
        values = value if isinstance(value, list) else [value]
        typed += [f"--{option}" if value is True else f"--{option} {one}" for one in values]
        counted = option in ("seeds", "epochs", "folds", "limit", "pool", "batch-size")
        named += [
            option if value is True else f"{one}-{option}" if counted else str(one).replace(",", "-") for one in values
        ]
    return typed, named
