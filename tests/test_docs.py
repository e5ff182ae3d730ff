"""Every example in the documentation runs, and every command shown prints what is shown."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.cli.running import dropgnn

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "dropgnn" / "engine" / "README.md"]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_python_examples_run(page: Path) -> None:
    names: dict[str, object] = {}
    for code in blocks(page, "python"):
        exec(compile(code, page.name, "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_print_what_is_shown(page: Path) -> None:
    for shown in blocks(page, "console"):
        command, *expected = [line.rstrip() for line in shown.splitlines()]
        assert command.startswith("$ dropgnn ")
        printed = dropgnn(*command.removeprefix("$ dropgnn ").split()).stdout
        assert [line.rstrip() for line in printed.splitlines()] == expected


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


ROOMS = (
    "errors", "registry", "files", "tensor_files", "interrupts", "compiling", "graph", "ops", "theory", "runs", "nn", "engine",
    "model", "testing", "data", "training", "molecules", "experiments", "report", "cli",
)  # fmt: skip
"""From below to above."""


def test_the_package_imports_downwards_only() -> None:
    """At the level of modules: what is imported for types alone, or at a first use, may come from above."""
    for path in (ROOT / "dropgnn").rglob("*.py"):
        room = path.relative_to(ROOT / "dropgnn").parts[0].removesuffix(".py")
        if room in ("__init__", "__main__"):
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            name = node.module if isinstance(node, ast.ImportFrom) else None
            if name is not None and name.startswith("dropgnn."):
                used = name.split(".")[1]
                assert ROOMS.index(used) <= ROOMS.index(room), f"{path.name} in {room} imports from {used}"
