"""The command line: one file per subcommand, and errors as sentences instead of tracebacks."""

from __future__ import annotations

import os
import sys
import time
import warnings
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.markup import escape

import dropgnn
from dropgnn.cli import brec, data, demo, distinguish, plan, predict, report, reproduce, train
from dropgnn.cli.command import Command
from dropgnn.errors import DropGNNError

LINGER = 10.0
"""Seconds that other ranks of a training wait for the first to say what is wrong: torchrun ends all when one has ended."""

commands = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dropgnn {dropgnn.__version__}")
        raise typer.Exit


@commands.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """DropGNN: random or exact dropouts that make any graph neural network more expressive."""


commands.command("plan", cls=Command)(plan.plan)
commands.command("distinguish", cls=Command)(distinguish.distinguish)
commands.add_typer(brec.commands, name="brec")
commands.add_typer(data.commands, name="data")
commands.command("demo", cls=Command)(demo.demo)
commands.add_typer(reproduce.commands, name="reproduce")
commands.command("report", cls=Command)(report.report)
commands.add_typer(train.commands, name="train")
commands.command("predict", cls=Command)(predict.predict)


def app() -> None:
    """The console script ``dropgnn``."""
    if not sys.warnoptions:  # what will change between other packages; worker processes take over the options
        sys.warnoptions.append("ignore::FutureWarning")
        warnings.simplefilter("ignore", FutureWarning)
    try:
        commands()
    except DropGNNError as problem:
        _fail(str(problem))
    except OSError as problem:  # a file that may not be read, a folder that may not be entered
        if problem.filename is None:
            raise
        _fail(f"{problem.filename}: {problem.strerror}")
    except KeyboardInterrupt:
        Console(stderr=True).print("interrupted")
        sys.exit(130)


def _fail(message: str) -> NoReturn:
    others = os.environ.get("RANK", "0") != "0"  # under torchrun the first process prints for all
    Console(stderr=True, quiet=others).print(f"[bold red]error:[/] {escape(message)}", highlight=False, soft_wrap=True)
    if others:
        time.sleep(LINGER)
    sys.exit(2)
