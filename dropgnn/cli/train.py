"""``dropgnn train``: a model for molecules, on one process or, under torchrun, on many."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from dropgnn.cli.command import Command
from dropgnn.cli.files import looks_like_a_model, new_file, output_file
from dropgnn.cli.names import (
    CHEMISTRY,
    DROPS,
    FEWEST_MOLECULES,
    MODELS,
    MOLECULES,
    PRESETS,
    TARGETS,
    choices,
    listed,
)
from dropgnn.cli.qm9 import check_folder, load_qm9
from dropgnn.cli.running import Preset, progress_bar
from dropgnn.errors import one_of

if TYPE_CHECKING:
    from dropgnn.data.qm9.arrays import Arrays
    from dropgnn.molecules.fitting import Fit
    from dropgnn.molecules.models import Settings
    from dropgnn.molecules.trained import TrainedModel
    from dropgnn.training.distributed import Ranks

commands = typer.Typer(help="Train a model and keep it as a file.", no_args_is_help=True)


@commands.callback()
def train() -> None:
    """Train a model and keep it as a file."""


@commands.command(cls=Command)
def qm9(
    targets: Annotated[
        list[str] | None,
        typer.Option("--target", help=f"Properties, separated by commas: {', '.join(TARGETS)} or all; else gap."),
    ] = None,
    together: Annotated[
        bool, typer.Option("--together", help="One model for all targets instead of one each.")
    ] = False,
    model: Annotated[str, typer.Option(help=f"The GNN: {choices(MODELS)}.")] = "1-gnn",
    drops: Annotated[str, typer.Option(help=f"The dropouts: {choices(DROPS)}.")] = "random",
    limit: Annotated[
        int | None,
        typer.Option(min=FEWEST_MOLECULES, max=MOLECULES, help="Molecules to use, 80/10/10; else all."),
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs.")] = 300,
    batch_size: Annotated[int | None, typer.Option(min=1, help="Molecules per step; else the model's own.")] = None,
    preset: Preset = "paper",
    chemistry: Annotated[
        str, typer.Option(help=f"Features of atoms and bonds: {choices(CHEMISTRY)}, which is as in PyG's QM9.")
    ] = "sanitized",
    seed: Annotated[int, typer.Option(min=0, help="For split, weights, batches and runs.")] = 0,
    out: Annotated[Path | None, typer.Option(help="The model's file; else named after its settings.")] = None,
    data: Annotated[Path | None, typer.Option(help="PyG's folder of QM9; else made from qm9pack.")] = None,
) -> None:
    """Train on QM9. If it is interrupted or killed, the same command continues. Under torchrun all processes train together."""
    for name, value, known in (
        ("model", model, MODELS),
        ("drops", drops, DROPS),
        ("preset", preset, PRESETS),
        ("chemistry", chemistry, CHEMISTRY),
    ):
        one_of(name, value, known)
    chosen = listed("target", targets, (*TARGETS, "all")) or ("gap",)
    chosen = TARGETS if "all" in chosen else chosen
    check_folder(data)
    if out is not None and len(chosen) > 1 and not together:
        output_file("out", out)  # the files of single targets are named after it
    elif out is not None and not looks_like_a_model(out):
        new_file(out)  # a model's file is compared with the settings below

    from dropgnn.molecules.models import Settings
    from dropgnn.training.distributed import joined

    every = Settings(model, drops, chosen, limit, epochs, batch_size, preset, chemistry, seed)
    models = [every] if together else [replace(every, targets=(target,)) for target in chosen]
    files = [_file(settings, out, alone=len(models) == 1) for settings in models]
    with joined() as ranks:
        there = ranks.from_first(lambda: list(map(_is_there, files, models)))
        molecules = ranks.one_per_machine_first(lambda: load_qm9(data))
        for settings, file, trained in zip(models, files, there, strict=True):
            if not trained:
                _train(settings, molecules, ranks, file)
            elif ranks.first:
                Console().print(
                    f"{settings.title} for {', '.join(settings.targets)} is trained: {file}",
                    highlight=False,
                    markup=False,
                )


def _file(settings: Settings, out: Path | None, *, alone: bool) -> Path:
    """The file of a model: ``out``, with the target where there are several models, or named after settings that differ from the
    defaults."""
    targets = "-".join(settings.targets)
    if out is not None:
        return out if alone else out.with_stem(f"{out.stem}-{targets}")
    usual, special = {field.name: field.default for field in fields(settings)}, []
    for name, value in asdict(settings).items():
        if name not in ("model", "drops", "targets") and value != usual[name]:
            special.append(f"{value}-{name}")
    return Path("-".join(["qm9", targets, settings.model, settings.drops, *special]) + ".safetensors")


def _is_there(file: Path, settings: Settings) -> bool:
    """Whether the file has a model with these settings, say from a run that was killed later; any other file is an error."""
    from dropgnn.errors import DataProblem
    from dropgnn.molecules.trained import TrainedModel

    if file.is_file():
        with suppress(DataProblem):
            if TrainedModel.load(file).settings == settings:
                _checkpoint(file).unlink(missing_ok=True)
                return True
    new_file(file)
    return False


def _checkpoint(file: Path) -> Path:
    return file.with_name(f"{file.name}.checkpoint")


def _train(settings: Settings, molecules: Arrays, ranks: Ranks, out: Path) -> None:
    """Train one model, from its checkpoint where there is one, and keep it."""
    from dropgnn.molecules.fitting import Fit

    checkpoint = _checkpoint(out)
    trained = _run(Fit(settings, molecules, ranks=ranks, checkpoint=checkpoint))
    if ranks.first:
        trained.save(new_file(out))
        checkpoint.unlink(missing_ok=True)
        _show(trained, out)


def _run(fit: Fit) -> TrainedModel:
    """Train with a bar on the first rank, and test."""
    from dropgnn.molecules.trained import TrainedModel

    console = Console(stderr=True, quiet=not fit.ranks.first)
    place = fit.position
    if (place.epoch, place.step) != (1, 0):
        console.print(f"going on from epoch {place.epoch}, step {place.step}", highlight=False)
    try:
        with progress_bar(console, f"{fit.settings.title}: steps") as progress:
            task = progress.add_task("steps", total=fit.settings.epochs * fit.steps)
            fit.run(lambda done: progress.update(task, completed=done))
        with console.status("testing the best epoch"):
            return TrainedModel.of(fit)
    except KeyboardInterrupt as interrupt:
        if not fit.done:
            fit.save()
        console.print(f"interrupted; {fit.checkpoint} is kept, run again to go on", highlight=False, markup=False)
        raise typer.Exit(130) from interrupt


def _show(trained: TrainedModel, out: Path) -> None:
    from dropgnn.data.qm9.targets import TARGETS

    table = Table(
        box=box.SIMPLE_HEAD, title=f"{trained.settings.title}, best epoch {trained.best_epoch}", title_justify="left"
    )
    for heading in ("target", "unit"):
        table.add_column(heading)
    for heading in ("validation error", "test error"):
        table.add_column(heading, justify="right")
    for name, validation, test in zip(trained.settings.targets, trained.validation, trained.test, strict=True):
        table.add_row(f"{name}, {TARGETS[name].title}", TARGETS[name].unit, f"{validation:.3g}", f"{test:.3g}")
    console = Console()
    console.print(table)
    console.print(f"mean absolute errors; the model is in {out}", highlight=False, markup=False)
