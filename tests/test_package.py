"""What a stranger's machine meets first: the Python that make takes, the bounds, and the page on a package index."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import dropgnn

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = [name.split(" :: ")[-1] for name in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", name)]

WORKS, OLD, BARE, SHIM = (
    "exit 0",
    'case "$2" in *version_info*) exit 1;; esac',
    'case "$2" in *ensurepip*) exit 1;; esac',
    "exit 127",
)


def set_up(folder: Path, *arguments: str, **pythons: str) -> subprocess.CompletedProcess[str]:
    """Let make look for a Python where the ``pythons`` are all there is; each prints its name when it makes an environment."""
    make, grep = shutil.which("make"), shutil.which("grep")
    if make is None or grep is None:
        pytest.skip("there is no make")
    for file in ("Makefile", "constraints.txt"):
        shutil.copy(ROOT / file, folder)
    commands = folder / "bin"
    commands.mkdir()
    (commands / "grep").symlink_to(grep)
    for name, script in pythons.items():
        command = commands / name.replace("_", ".")
        command.write_text(
            f'#!/bin/sh\n[ "$1 $2" = "-m venv" ] && echo "${{0##*/}}" && exit\n{script}\n', encoding="utf-8"
        )
        command.chmod(0o755)
    given = {name: value for name, value in os.environ.items() if name not in {"PYTHON", "MAKEFLAGS", "MAKELEVEL"}}
    return subprocess.run(
        [make, "--no-print-directory", ".venv/bin/python", *arguments],
        cwd=folder,
        env={**given, "PATH": str(commands)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("pythons", "taken"),
    [
        ({"python3_13": WORKS, "python3_12": WORKS, "python3_11": WORKS, "python3": WORKS}, "python3.13"),
        ({"python3_13": SHIM, "python3_12": WORKS, "python3_11": WORKS}, "python3.12"),
        ({"python3_12": BARE, "python3_11": WORKS}, "python3.11"),
        ({"python3": WORKS}, "python3"),
    ],
    ids=["newest", "shim", "without-venv", "python3"],
)
def test_make_takes_the_first_python_that_works(tmp_path: Path, pythons: dict[str, str], taken: str) -> None:
    done = set_up(tmp_path, **pythons)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, taken, "")


def test_make_takes_the_python_it_is_given(tmp_path: Path) -> None:
    assert set_up(tmp_path, "PYTHON=python3.11", python3_11=WORKS, python3_13=WORKS).stdout.strip() == "python3.11"


@pytest.mark.parametrize(
    ("pythons", "rule"),
    [
        ({}, r"none of python3.13 .* is a Python >= 3.11 that runs: install one"),
        ({"python3": OLD, "python3_13": SHIM}, r"none of python3.13 .* is a Python >= 3.11 that runs: install one"),
        ({"python3": OLD, "python3_12": BARE}, r"no module venv in python3.12: install it .*python3-venv"),
    ],
    ids=["none", "old", "without-venv"],
)
def test_make_says_in_one_line_what_to_install(tmp_path: Path, pythons: dict[str, str], rule: str) -> None:
    done = set_up(tmp_path, **pythons)
    said, from_make = done.stderr.splitlines()
    assert done.returncode != 0
    assert re.match(f"make: {rule}", said), said
    assert "Error 1" in from_make


def test_the_pinned_versions_keep_the_bounds() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = {canonicalize_name(name): Version(version) for name, version in (line.split("==") for line in lines[1:])}
    wanted = [*PROJECT["dependencies"], *(one for extra in PROJECT["optional-dependencies"].values() for one in extra)]
    for requirement in map(Requirement, wanted):
        assert len(requirement.specifier) > 0, f"{requirement} has no lower bound"
        assert pins[canonicalize_name(requirement.name)] in requirement.specifier, requirement


def test_supported_pythons_are_the_same_everywhere() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    workflow = (ROOT / ".github" / "workflows" / "check.yml").read_text(encoding="utf-8")
    assert PYTHONS == ["3.11", "3.12", "3.13"]
    assert " ".join([f"python{version}" for version in reversed(PYTHONS)]) + " python3)" in makefile
    assert set(re.findall(r"python: (\[.*\])", workflow)) == {str(PYTHONS).replace("'", '"')}


def test_the_page_for_an_index_has_no_relative_link() -> None:
    text = runpy.run_path(str(ROOT / "setup.py"))["page"]()
    base = PROJECT["urls"]["Repository"]
    targets = re.findall(r"\]\(([^)#]+)", text)
    assert all(target.startswith("https://") for target in targets), targets
    own = [target.removeprefix(base).split("/", 3) for target in targets if target.startswith(base)]
    assert {kind for _, kind, _, _ in own} == {"raw", "blob"}
    for _, _, _, path in own:
        assert (ROOT / path).exists(), path


def test_the_citation_is_of_this_version_and_of_the_paper() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {dropgnn.__version__}\n" in text
    assert f"\nrepository-code: {PROJECT['urls']['Repository']}\n" in text
    assert PROJECT["urls"]["Paper"] in text


def test_the_command_line_shows_no_deprecations_of_other_packages() -> None:
    code = (
        "import warnings; from dropgnn.cli import main; "
        "main.commands = lambda: warnings.warn_explicit('old', FutureWarning, 'torch/jit.py', 1, 'torch.jit'); main.app()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr == ""


@pytest.mark.parametrize("category", [DeprecationWarning, FutureWarning])
def test_a_deprecation_is_an_error_where_our_code_causes_it(category: type[Warning]) -> None:
    for module in ("dropgnn.graph", "tests.conftest", "examples.wrap_your_gnn", "<string>"):
        with pytest.raises(category):
            warnings.warn_explicit("old", category, f"{module}.py", 1, module)
    warnings.warn_explicit("old", category, "torch/jit.py", 1, "torch.jit")


def test_any_other_warning_is_an_error() -> None:
    for module in ("dropgnn.graph", "torch.jit"):
        with pytest.raises(UserWarning):
            warnings.warn_explicit("odd", UserWarning, f"{module}.py", 1, module)
