"""``dropgnn reproduce``: one command per table or figure, resumable."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from dropgnn.cli.command import Command
from dropgnn.cli.files import input_folder
from dropgnn.cli.names import (
    DATASETS,
    DROPS,
    FEWEST_MOLECULES,
    METHODS,
    MODELS,
    MOLECULES,
    POOLS,
    PRESETS,
    PROTOCOLS,
    RIVAL_DROPS,
    STUDIES,
    TARGETS,
    TASKS,
    choices,
    listed,
)
from dropgnn.cli.running import Preset
from dropgnn.cli.study import check_places, run_study
from dropgnn.errors import InvalidArgument, one_of

commands = typer.Typer(
    help="Run the trainings of a table or figure of the paper that are missing, and print it beside the paper's values.",
    no_args_is_help=True,
)

Jobs = Annotated[int, typer.Option(min=1, help="Processes to use, one thread each.")]
Cluster = Annotated[str | None, typer.Option(help="Run on Ray: 'local', or the address of a cluster.")]
Work = Annotated[Path, typer.Option(help="Folder that keeps finished trainings; the same command continues there.")]
Results = Annotated[Path, typer.Option(help="Folder for the study's file, which dropgnn report reads.")]
Adopt = Annotated[
    bool, typer.Option("--adopt", help="Take finished trainings from the study's files in --results first.")
]


def synthetic(study: str) -> Callable[..., None]:
    """The command for a study on the synthetic tasks."""

    def reproduce(
        preset: Preset = "published",
        quick: Annotated[bool, typer.Option("--quick", help="Two seeds and few epochs, for a first look.")] = False,
        tasks: Annotated[
            list[str] | None,
            typer.Option("--task", help=f"Only these tasks, separated by commas: {choices(TASKS)}."),
        ] = None,
        methods: Annotated[
            list[str] | None,
            typer.Option("--method", help=f"Only these methods, separated by commas: {choices(METHODS)}."),
        ] = None,
        seeds: Annotated[
            int | None, typer.Option(min=1, help="Trainings per cell; else 10, modes and aggregators 5.")
        ] = None,
        epochs: Annotated[int | None, typer.Option(min=1, help="Epochs per training; else 1,000.")] = None,
        jobs: Jobs = 2,
        cluster: Cluster = None,
        work: Work = Path("runs"),
        results: Results = Path("results"),
        adopt: Adopt = False,
    ) -> None:
        one_of("preset", preset, PRESETS)
        chosen_tasks, chosen_methods = listed("task", tasks, TASKS), listed("method", methods, METHODS)
        for option, chosen, known in zip(
            ("task", "method"), (chosen_tasks, chosen_methods), STUDIES[study], strict=True
        ):
            if chosen is not None and not set(chosen) & set(known):
                raise InvalidArgument(option, f"must be of {study}: {', '.join(known)}", got=", ".join(chosen))
        check_places(work, results, cluster)

        from dataclasses import replace

        from dropgnn.experiments.studies import FULL, QUICK, SYNTHETIC_STUDIES

        scale = replace(QUICK if quick else FULL, preset=preset)
        scale = replace(
            scale, seeds=seeds or scale.seeds, few_seeds=seeds or scale.few_seeds, epochs=epochs or scale.epochs
        )
        trials = [
            trial
            for trial in SYNTHETIC_STUDIES[study](scale)
            if trial.task in (chosen_tasks or TASKS) and trial.method in (chosen_methods or METHODS)
        ]
        options = {
            "preset": _unless("published", preset), "quick": quick, "task": _joined(chosen_tasks),
            "method": _joined(chosen_methods), "seeds": seeds, "epochs": epochs,
        }  # fmt: skip
        run_study(study, trials, options, jobs=jobs, cluster=cluster, work=work, results=results, adopt=adopt)

    return reproduce


for name, what in {
    "table1": "Table 1: six tasks that 1-WL cannot solve, GIN and four ways to help it.",
    "ours": "DropGIN at its best: a learning rate that decays, more dropouts, exact tests.",
    "figure-runs": "The number of runs in testing.",
    "figure-p": "The dropout probability.",
    "modes": "Five ways to drop, and dropping in training only.",
    "samplers": "Random, stratified and exact dropouts, in training and in testing.",
    "aggregators": "Aggregation over runs and over neighbours.",
}.items():
    commands.command(name, help=what, cls=Command)(synthetic(name))


@commands.command(
    "table2",
    help="Table 2: graph classification on MUTAG, PTC (two versions), PROTEINS, IMDB-B and IMDB-M.",
    cls=Command,
)
def table2(
    datasets: Annotated[
        list[str] | None,
        typer.Option("--dataset", help=f"Only these, separated by commas: {choices(DATASETS)}."),
    ] = None,
    protocol: Annotated[
        str, typer.Option(help=f"How the epoch is selected, {choices(PROTOCOLS)}; the paper reports gin.")
    ] = "gin",
    grid: Annotated[
        bool, typer.Option("--grid", help="All hyper-parameters of the paper instead of one choice.")
    ] = False,
    batch_size: Annotated[
        int | None, typer.Option(min=1, help="Graphs per step; else 32, and with --grid 32 and 128.")
    ] = None,
    rivals: Annotated[bool, typer.Option("--rivals", help="Also GCN, GraphSAGE and a random feature.")] = False,
    drops: Annotated[
        list[str] | None,
        typer.Option(help=f"Only models with these dropouts, separated by commas: {choices(DROPS)}."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Two folds and few epochs, for a first look.")] = False,
    folds: Annotated[int | None, typer.Option(min=1, max=10, help="Only the first of the 10 folds, this many.")] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Epochs per training; else 350.")] = None,
    pool: Annotated[
        str,
        typer.Option(
            help=f"Pooling over the nodes of a graph, {choices(POOLS)}; the published code takes the sum, GIN's on IMDB "
            "the mean."
        ),
    ] = "sum",
    preset: Preset = "published",
    data: Annotated[Path | None, typer.Option(help="Folder with datasets; else DROPGNN_DATA, else the cache.")] = None,
    jobs: Jobs = 2,
    cluster: Cluster = None,
    work: Work = Path("runs"),
    results: Results = Path("results"),
    adopt: Adopt = False,
) -> None:
    import os

    from dropgnn.data.locate import paper_name

    one_of("preset", preset, PRESETS)
    one_of("protocol", protocol, PROTOCOLS)
    one_of("pool", pool, POOLS)
    asked = listed("drops", drops, DROPS) or DROPS
    dropping = tuple(one for one in DROPS if one in asked)  # the same study, in whatever order they were given
    named = None if datasets is None else [paper_name(name.strip()) for value in datasets for name in value.split(",")]
    chosen = listed("dataset", named, DATASETS) or DATASETS
    if rivals and not set(dropping) & set(RIVAL_DROPS):
        raise InvalidArgument(
            "rivals", "has no effect: none of them has these dropouts", got=", ".join(dropping), hint="leave it out"
        )
    input_folder("data", data)
    check_places(work, results, cluster)

    from dropgnn.experiments.graph_classification import dataset_of
    from dropgnn.experiments.studies.table2 import BATCH_SIZES, CONTESTANTS, MAIN, Extent, trials

    if data is not None:
        os.environ["DROPGNN_DATA"] = str(data.resolve())  # where the processes that train will look, too
    contents = {dataset_of(one).notes[-1]: one for one in chosen}  # what is missing or damaged is an error now
    if not datasets:
        chosen = tuple(contents.values())  # where there are only the TU files, both PTCs are the same
    contestants = tuple(name for name in (CONTESTANTS if rivals else MAIN) if CONTESTANTS[name].drops in dropping)
    extent = Extent(
        chosen, protocol, grid, BATCH_SIZES if batch_size is None else (batch_size,), contestants,
        folds or (2 if quick else 10), epochs or (20 if quick else 350), preset, pool,
    )  # fmt: skip
    options = {
        "dataset": _joined(chosen if datasets else None), "protocol": _unless("gin", protocol), "grid": grid,
        "batch-size": batch_size, "rivals": rivals, "drops": _unless(_joined(DROPS), _joined(dropping)), "quick": quick,
        "folds": folds, "epochs": epochs, "pool": _unless("sum", pool), "preset": _unless("published", preset),
    }  # fmt: skip
    run_study("table2", trials(extent), options, jobs=jobs, cluster=cluster, work=work, results=results, adopt=adopt)


@commands.command("table3", help="Table 3: twelve properties of the molecules of QM9.", cls=Command)
def table3(
    models: Annotated[
        list[str] | None,
        typer.Option("--model", help=f"Only these models, separated by commas: {choices(MODELS)}."),
    ] = None,
    targets: Annotated[
        list[str] | None,
        typer.Option("--target", help=f"Only these properties, separated by commas: {choices(TARGETS)}."),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=FEWEST_MOLECULES, max=MOLECULES, help="Molecules to use, 80/10/10; else all."),
    ] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Epochs per training; else 300.")] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Trainings per number; else 1, and 3 for mu, gap and zpve of the 1-GNN.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="1-GNN, two properties, few molecules and epochs.")] = False,
    preset: Preset = "published",
    jobs: Jobs = 2,
    cluster: Cluster = None,
    work: Work = Path("runs"),
    results: Results = Path("results"),
    adopt: Adopt = False,
) -> None:
    one_of("preset", preset, PRESETS)
    named, properties = listed("model", models, MODELS), listed("target", targets, TARGETS)
    check_places(work, results, cluster)

    from dropgnn.cli.qm9 import load_qm9
    from dropgnn.experiments.property_regression import run
    from dropgnn.experiments.studies.table3 import Extent, trials

    extent = Extent(
        named or (("1-gnn",) if quick else MODELS), properties or (("mu", "gap") if quick else TARGETS),
        limit or (1_000 if quick else None), epochs or (5 if quick else 300), seeds or (1 if quick else None), preset,
    )  # fmt: skip
    molecules = load_qm9()  # made now, if need be, and not by the processes that train
    if limit is not None and limit > len(molecules):
        raise InvalidArgument("limit", f"must be at most the number of molecules, {len(molecules):,}", got=limit)
    here = None if cluster is not None else work.resolve()  # machines of a cluster may not share a folder
    options = {
        "model": _joined(named), "target": _joined(properties), "limit": limit, "epochs": epochs, "seeds": seeds,
        "quick": quick, "preset": _unless("published", preset),
    }  # fmt: skip
    run_study(
        "table3",
        trials(extent),
        options,
        jobs=jobs,
        cluster=cluster,
        work=work,
        results=results,
        adopt=adopt,
        training=partial(run, unfinished=here),
    )


def _joined(names: tuple[str, ...] | None) -> str | None:
    """Names as one value of an option."""
    return None if names is None else ",".join(names)


def _unless(default: str | None, value: str | None) -> str | None:
    """What was chosen, where that is not the default."""
    return None if value == default else value
