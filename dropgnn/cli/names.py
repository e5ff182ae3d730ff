"""The names that options accept, here so that they are checked and listed in ``--help`` without importing torch.

``tests/cli/test_names.py`` compares them with the registries.
"""

from __future__ import annotations

from collections.abc import Iterable

from dropgnn.data.qm9.targets import TARGETS as _TARGETS
from dropgnn.errors import one_of

PRESETS = ("paper", "published", "no-auxiliary")
DROPS = ("none", "random", "exact")

TASKS = ("limits1", "limits2", "four_cycles", "lcc", "triangles", "skip_circles")
METHODS = ("gin", "ports", "ids", "random", "dropout", "ports+dropout")
FIGURE_TASKS = ("limits1", "four_cycles", "triangles")

STUDIES = {
    "table1": (TASKS, METHODS),
    "ours": (TASKS, METHODS[:-1]),
    "figure-runs": (FIGURE_TASKS, ("dropout",)),
    "figure-p": (FIGURE_TASKS, ("dropout",)),
    "modes": (TASKS, ("dropout",)),
    "samplers": (TASKS, ("dropout",)),
    "aggregators": (TASKS, ("dropout",)),
}
"""The studies on synthetic tasks, with the tasks and methods of each."""

DATASETS = ("MUTAG", "PTC", "PTC_MR", "PROTEINS", "IMDB-B", "IMDB-M")
FEATURES = ("labels", "attributes", "labels+attributes", "degree", "constant")
FILTERS = ("none", "at-most-70-nodes", "proteins", "without-hydrogens")
PROTOCOLS = ("gin", "nested")
POOLS = ("sum", "mean", "max")
RIVAL_DROPS = ("none", "random")
"""The dropouts of Table 2's further rivals."""

TARGETS = tuple(_TARGETS)
MODELS = ("1-gnn", "1-gnn-skip", "mpnn")
CHEMISTRY = ("sanitized", "pyg")
FEWEST_MOLECULES = 10
MOLECULES = 130_831
"""In QM9, before those are left out that cannot be made."""

BREC_METHODS = ("gin", "random-50", "random-100", "exhaustive-1", "exhaustive-2")


def choices(names: Iterable[str]) -> str:
    """
    >>> choices(("none", "random", "exact"))
    'none, random or exact'
    """
    *first, last = names
    return f"{', '.join(first)} or {last}"


def listed(argument: str, values: Iterable[str] | None, known: Iterable[str]) -> tuple[str, ...] | None:
    """What was given for an option that takes several names, separated by commas or by repeating the option; each once.

    >>> listed("task", ["lcc,limits1", "lcc"], TASKS)
    ('lcc', 'limits1')
    """
    if values is None:
        return None
    names = dict.fromkeys(name.strip() for value in values for name in value.split(","))
    return tuple(one_of(argument, name, known) for name in names)
