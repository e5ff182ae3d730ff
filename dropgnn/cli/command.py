"""What all commands have in common: old spellings of options, and errors that name options as they are typed."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

from dropgnn.errors import InvalidArgument

OLD_SPELLINGS = {
    "--output": "--out",
    "--tasks": "--task",
    "--methods": "--method",
    "--datasets": "--dataset",
    "--models": "--model",
    "--targets": "--target",
}
"""Still understood, but not listed in ``--help``: commands in files of results have them."""


class Command(TyperCommand):
    """A command that also takes the old spellings of its options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        mine = {spelling for parameter in self.params for spelling in parameter.opts}
        try:
            return super().parse_args(ctx, [_current(argument, mine) for argument in args])
        except Exception as problem:
            _name_the_value(problem)
            raise

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except InvalidArgument as problem:
            problem.args = (self._as_typed(str(problem)),)
            raise

    def _as_typed(self, message: str) -> str:
        """The message with the option's spelling, such as ``--batch-size``, in place of the argument's, ``batch_size``."""
        for parameter in self.params:
            spelling = parameter.opts[0] if parameter.param_type_name == "option" else str(parameter.name).upper()
            for name in (parameter.name, spelling.lstrip("-").replace("-", "_")):
                if message.startswith(f"'{name}' "):
                    return f"'{spelling}'{message.removeprefix(repr(name))}"
        return message


def _name_the_value(problem: Exception) -> None:
    """Newer typers say which rule a value breaks, and not which value; the error of the library that checked it knows."""
    errors = getattr(problem.__cause__, "errors", None)
    if errors is not None and hasattr(problem, "message"):
        problem.message = f"{problem.message} (got {errors()[0].get('input')!r})"


def _current(argument: str, mine: set[str]) -> str:
    """The argument in its current spelling, where only that is an option of the command."""
    option, equals, value = argument.partition("=")
    current = OLD_SPELLINGS.get(option, option)
    return f"{current}{equals}{value}" if current in mine and option not in mine else argument
