"""``dropgnn brec``: the 400 pairs of BREC, by proof and by training."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from dropgnn.cli.command import Command
from dropgnn.cli.files import input_file, input_folder, output_file, output_folder
from dropgnn.cli.names import BREC_METHODS, choices
from dropgnn.cli.running import run_with_bar
from dropgnn.errors import one_of

if TYPE_CHECKING:
    from dropgnn.errors import TrialsFailed
    from dropgnn.experiments.store import Store

commands = typer.Typer(help="BREC: 400 pairs of graphs that 1-WL cannot tell apart.", no_args_is_help=True)

Data = Annotated[Path | None, typer.Option(help="Folder with BREC; else DROPGNN_DATA, else the cache.")]
Work = Annotated[Path, typer.Option(help="Folder that keeps finished pairs; the same command continues there.")]
Jobs = Annotated[int, typer.Option(min=1, help="Processes to use, one thread each.")]


@commands.command("certificate", cls=Command)
def certificate(
    max_k: Annotated[int, typer.Option(min=0, help="Largest number of dropped nodes to try.")] = 4,
    data: Data = None,
    work: Work = Path("runs"),
    jobs: Jobs = 2,
    out: Annotated[Path | None, typer.Option(help="Write all verdicts into this file (.json).")] = None,
) -> None:
    """For each pair the smallest number of dropped nodes that separates it, proved without training."""
    _check(data, work, out)

    from dropgnn.data.brec import load_brec

    load_brec(data)  # what is missing or damaged is an error now

    from functools import partial

    from dropgnn.experiments import brec_certificate as experiment
    from dropgnn.experiments.store import Store
    from dropgnn.report.brec import certificate_table, save

    trials = [experiment.Certificate(number, max_k) for number in range(400)]
    store = Store(work, experiment.EXPERIMENT)
    found, failed = _run(partial(experiment.run, data=data), trials, store, jobs)
    Console().print(certificate_table(found, max_k))
    if failed is not None:
        raise failed
    if out is not None:
        save(out, {"max_k": max_k, "pairs": found})


@commands.command("train", cls=Command)
def train(
    method: Annotated[str, typer.Argument(help=f"{choices(BREC_METHODS)}.")],
    layers: Annotated[int, typer.Option(min=1, help="Layers of GIN.")] = 16,
    epochs: Annotated[int, typer.Option(min=1, help="Steps of contrastive training.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="For weights, relabelling and runs.")] = 0,
    data: Data = None,
    work: Work = Path("runs"),
    jobs: Jobs = 2,
    out: Annotated[Path | None, typer.Option(help="Write all results into this file (.json).")] = None,
) -> None:
    """BREC's own protocol: a fresh model per pair, contrastive training, Hotelling's test, a reliability check."""
    one_of("method", method, BREC_METHODS)
    _check(data, work, out)

    from dropgnn.data.brec import load_brec

    load_brec(data)  # what is missing or damaged is an error now

    from functools import partial

    from dropgnn.experiments import brec_trained as experiment
    from dropgnn.experiments.store import Store
    from dropgnn.report.brec import save, trained_table

    trials = [experiment.Trained(number, method, seed, epochs, layers) for number in range(400)]
    store = Store(work, experiment.EXPERIMENT)
    found, failed = _run(partial(experiment.run, data=data), trials, store, jobs)
    Console().print(trained_table(found, method))
    if failed is not None:
        raise failed
    if out is not None:
        save(out, {"method": method, "layers": layers, "epochs": epochs, "seed": seed, "pairs": found})


@commands.command("explain", cls=Command)
def explain(
    trained: Annotated[Path, typer.Argument(help="A file that dropgnn brec train wrote with --out.")], data: Data = None
) -> None:
    """For each pair why a trained model misses it, or separates it although it cannot see the difference."""
    input_file("trained", trained)
    input_folder("data", data)

    from rich.progress import track

    from dropgnn.data.brec import NAMES, load_brec
    from dropgnn.experiments.brec_gap import dropped_by, reason
    from dropgnn.report.brec import load_trained

    found = load_trained(trained)
    pairs = load_brec(data)
    console, told = Console(), 0
    for row in track(found["pairs"], "pairs", console=Console(stderr=True), transient=True):
        number = row["pair"]
        why = reason(pairs[number], row, k=dropped_by(found["method"], row), layers=found["layers"])
        if why is not None:
            told += 1
            line = f"{number:>3}  {NAMES[row['kind']]:<18}  {row['nodes']:>3} nodes  {why}"
            console.print(line, highlight=False, soft_wrap=True)
    console.print(f"{told} of {len(found['pairs'])} pairs", highlight=False)


def _check(data: Path | None, work: Path, out: Path | None) -> None:
    input_folder("data", data)
    output_folder("work", work)
    if out is not None:
        output_file("out", out, ".json")


def _run(work: Any, trials: Sequence[Any], store: Store, jobs: int) -> tuple[list[dict[str, Any]], TrialsFailed | None]:
    """Run the trials that have no result yet; returns the results of all trials, and the error if some failed."""
    from dropgnn.errors import TrialsFailed

    failed: TrialsFailed | None = None
    try:
        run_with_bar(work, trials, store, jobs=jobs, unit="pairs")
    except TrialsFailed as problem:
        failed = problem
    results = [store.get(trial) for trial in trials]
    return [{"pair": number, **result} for number, result in enumerate(results) if result is not None], failed
