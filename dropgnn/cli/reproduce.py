"""``dropgnn reproduce``: one command per table or figure, resumable."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from dropgnn.cli.running import Preset
from dropgnn.cli.study import run_study

commands = typer.Typer(
    help="Train what a table or figure of the paper needs, as far as it is missing, and print it beside the paper's values.",
    no_args_is_help=True,
)

Jobs = Annotated[int, typer.Option(min=1, help="Processes to use, one thread each.")]
Cluster = Annotated[str | None, typer.Option(help="Run on Ray: 'local', or the address of a cluster.")]
Work = Annotated[Path, typer.Option(help="Where finished trials are kept; run again to go on.")]
Results = Annotated[Path, typer.Option(help="Where the study's file is written, for dropgnn report.")]
Adopt = Annotated[
    bool, typer.Option("--adopt", help="Go on from the study's files in --results: their trials are not run again.")
]


def synthetic(study: str) -> Callable[..., None]:
    """The command for a study on the synthetic tasks."""

    def reproduce(
        preset: Preset = "published",
        quick: Annotated[bool, typer.Option("--quick", help="Two seeds and few epochs, for a first look.")] = False,
        tasks: Annotated[list[str] | None, typer.Option("--task", help="Only this task; may be given again.")] = None,
        methods: Annotated[
            list[str] | None, typer.Option("--method", help="Only this method, such as dropout; may be given again.")
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
        from dataclasses import replace

        from dropgnn.data.synthetic import SYNTHETIC
        from dropgnn.errors import InvalidArgument, one_of
        from dropgnn.experiments.beyond_wl import BOTH, METHODS, TASKS
        from dropgnn.experiments.studies import FULL, QUICK, SYNTHETIC_STUDIES
        from dropgnn.training.presets import PRESETS

        PRESETS[preset]  # an unknown name is an error now
        for task in tasks or ():
            SYNTHETIC[task]
        for method in methods or ():
            one_of("method", method, (*METHODS, BOTH))
        scale = replace(QUICK if quick else FULL, preset=preset)
        scale = replace(
            scale, seeds=seeds or scale.seeds, few_seeds=seeds or scale.few_seeds, epochs=epochs or scale.epochs
        )
        everything = SYNTHETIC_STUDIES[study](scale)
        trials = [
            trial
            for trial in everything
            if trial.task in (tasks or TASKS) and trial.method in (methods or (*METHODS, BOTH))
        ]
        if not trials:
            known = (
                ", ".join(dict.fromkeys(getattr(trial, name) for trial in everything)) for name in ("task", "method")
            )
            rule = "must be those of {}: {}; {}".format(study, *known)
            raise InvalidArgument("task and method", rule, got=", ".join([*(tasks or ()), *(methods or ())]))
        options = {
            "preset": _unless("published", preset), "quick": quick, "task": tasks, "method": methods, "seeds": seeds,
            "epochs": epochs,
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
    commands.command(name, help=what)(synthetic(name))


@commands.command(
    "table2", help="Table 2: graph classification on MUTAG, PTC (two versions), PROTEINS, IMDB-B and IMDB-M."
)
def table2(
    datasets: Annotated[str | None, typer.Option(help="Only these, separated by commas.")] = None,
    protocol: Annotated[str, typer.Option(help="gin, as the paper reports, or nested.")] = "gin",
    grid: Annotated[
        bool, typer.Option("--grid", help="All hyper-parameters of the paper instead of one choice.")
    ] = False,
    batch_size: Annotated[
        int | None, typer.Option(min=1, help="Graphs per step; else 32, and with --grid 32 and 128.")
    ] = None,
    rivals: Annotated[bool, typer.Option("--rivals", help="GCN, GraphSAGE and a random feature, too.")] = False,
    drops: Annotated[
        str | None, typer.Option(help="Only models with these dropouts: none, random, exact, separated by commas.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Two folds and few epochs, for a first look.")] = False,
    folds: Annotated[
        int | None, typer.Option(min=1, max=10, help="Use only the first so many of the 10 folds.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Epochs per training; else 350.")] = None,
    pool: Annotated[
        str, typer.Option(help="Over the nodes of a graph: sum, as the published code, or mean, as GIN's on IMDB.")
    ] = "sum",
    preset: Preset = "paper",
    data: Annotated[Path | None, typer.Option(help="Folder with datasets; else DROPGNN_DATA, else the cache.")] = None,
    jobs: Jobs = 2,
    cluster: Cluster = None,
    work: Work = Path("runs"),
    results: Results = Path("results"),
    adopt: Adopt = False,
) -> None:
    import os

    from dropgnn.data.locate import paper_name
    from dropgnn.errors import InvalidArgument
    from dropgnn.experiments.graph_classification import PROTOCOLS, dataset_of
    from dropgnn.experiments.studies.table2 import BATCH_SIZES, CONTESTANTS, DATASETS, MAIN, Extent, trials
    from dropgnn.nn.heads import POOLS
    from dropgnn.training.presets import DROPS, PRESETS

    PRESETS[preset]  # an unknown name is an error now
    PROTOCOLS[protocol]
    asked = tuple(DROPS) if drops is None else _listed(drops)
    for one in asked:
        DROPS[one]
    dropping = tuple(one for one in DROPS if one in asked)  # the same study, however they were ordered
    chosen = tuple(dict.fromkeys(map(paper_name, _listed(datasets) if datasets else DATASETS)))
    for one in chosen:
        if one not in DATASETS:
            raise InvalidArgument("datasets", f"must be among {', '.join(DATASETS)}", got=repr(one))
    POOLS[pool]
    if data is not None:
        os.environ["DROPGNN_DATA"] = str(data.resolve())  # where the processes that train will look, too
    contents = {dataset_of(one).notes[-1]: one for one in chosen}  # what is missing or damaged is an error now
    if not datasets:
        chosen = tuple(contents.values())  # where there are only the TU files, both PTCs are the same
    contestants = tuple(name for name in (CONTESTANTS if rivals else MAIN) if CONTESTANTS[name].drops in dropping)
    if rivals and set(contestants) <= set(MAIN):
        raise InvalidArgument(
            "rivals", "has no effect: none of them has these dropouts", got=drops, hint="leave it out"
        )
    extent = Extent(
        chosen, protocol, grid, BATCH_SIZES if batch_size is None else (batch_size,), contestants,
        folds or (2 if quick else 10), epochs or (20 if quick else 350), preset, pool,
    )  # fmt: skip
    options = {
        "datasets": ",".join(chosen) if datasets else None, "protocol": _unless("gin", protocol), "grid": grid,
        "batch-size": batch_size, "rivals": rivals, "drops": _unless(",".join(DROPS), ",".join(dropping)), "quick": quick,
        "folds": folds, "epochs": epochs, "pool": _unless("sum", pool), "preset": _unless("paper", preset),
    }  # fmt: skip
    run_study("table2", trials(extent), options, jobs=jobs, cluster=cluster, work=work, results=results, adopt=adopt)


@commands.command("table3", help="Table 3: twelve properties of the molecules of QM9.")
def table3(
    models: Annotated[str | None, typer.Option(help="1-gnn, 1-gnn-skip, mpnn, separated by commas; else all.")] = None,
    targets: Annotated[str | None, typer.Option(help="Properties, separated by commas; else all twelve.")] = None,
    limit: Annotated[int | None, typer.Option(min=10, help="Molecules to use, 80/10/10; else all.")] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Epochs per training; else 300.")] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Trainings per number; else 1, and 3 for mu, gap and zpve of the 1-GNN.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="1-GNN, two properties, few molecules and epochs.")] = False,
    preset: Preset = "paper",
    jobs: Jobs = 2,
    cluster: Cluster = None,
    work: Work = Path("runs"),
    results: Results = Path("results"),
    adopt: Adopt = False,
) -> None:
    from dropgnn.cli.qm9 import load_qm9
    from dropgnn.data.qm9.targets import TARGETS
    from dropgnn.errors import InvalidArgument
    from dropgnn.experiments.property_regression import run
    from dropgnn.experiments.studies.table3 import FAMILIES, Extent, trials
    from dropgnn.molecules.models import MODELS
    from dropgnn.training.presets import PRESETS

    PRESETS[preset]  # an unknown name is an error now
    chosen = _listed(models) if models else ("1-gnn",) if quick else tuple(FAMILIES)
    properties = _listed(targets) if targets else ("mu", "gap") if quick else tuple(TARGETS)
    for one in chosen:
        MODELS[one]
    for one in properties:
        TARGETS[one]
    extent = Extent(
        chosen, properties, limit or (1_000 if quick else None), epochs or (5 if quick else 300),
        seeds or (1 if quick else None), preset,
    )  # fmt: skip
    molecules = load_qm9()  # made now, if need be, and not by the processes that train
    if limit is not None and limit > len(molecules):
        raise InvalidArgument("limit", f"must be at most the number of molecules, {len(molecules):,}", got=limit)
    here = None if cluster is not None else work.resolve()  # machines of a cluster may not share a folder
    options = {
        "models": ",".join(chosen) if models else None, "targets": ",".join(properties) if targets else None, "limit": limit,
        "epochs": epochs, "seeds": seeds, "quick": quick, "preset": _unless("paper", preset),
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


def _listed(names: str) -> tuple[str, ...]:
    """Names separated by commas, each once."""
    return tuple(dict.fromkeys(map(str.strip, names.split(","))))


def _unless(default: str, value: str) -> str | None:
    """What was chosen, where that is not the default."""
    return None if value == default else value
