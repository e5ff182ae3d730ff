"""The models of the QM9 experiments, each with and without dropouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch.nn import ELU, Linear, ReLU, Sequential

from dropgnn.data.qm9.arrays import CHEMISTRY
from dropgnn.data.qm9.molecules import ATOM_FEATURES, BOND_TYPES
from dropgnn.data.qm9.targets import TARGETS
from dropgnn.errors import InvalidArgument, of_kind, one_of, whole_number
from dropgnn.model.dropgnn import DropGNN
from dropgnn.nn.encoder import Encoder
from dropgnn.nn.heads import Pooled, Set2SetReadout
from dropgnn.nn.mpnn import MPNN
from dropgnn.nn.one_gnn import OneGNN
from dropgnn.registry import Registry
from dropgnn.training.presets import DROPS, PRESETS

FEWEST = 10
"""Molecules that can be split into tenths."""

EDGE_FEATURES = len(BOND_TYPES) + 1
"""The kind of bond, one-hot, and the distance."""


class Architecture(NamedTuple):
    """A GNN for molecules and what it is trained on.

    Args:
        title: What to call it.
        graphs, scaled: As for :meth:`~dropgnn.data.qm9.dataset.QM9.graphs`.
        batch_size: Molecules per step.
        encoder: The GNN.
        head: From its width and a number of targets to what reads it out.
    """

    title: str
    graphs: str
    scaled: bool
    batch_size: int
    encoder: Callable[[], Encoder]
    head: Callable[[int, int], torch.nn.Module]


def _mean_head(width: int, outputs: int) -> torch.nn.Module:
    return Pooled(
        Sequential(Linear(width, 32), ELU(), Linear(32, 16), ELU(), Linear(16, outputs)),
        pool="mean",
    )


def _set_head(width: int, outputs: int) -> torch.nn.Module:
    return Set2SetReadout(width, Sequential(Linear(2 * width, width), ReLU(), Linear(width, outputs)))


MODELS = Registry[Architecture](
    "model",
    {
        "1-gnn": Architecture(
            "1-GNN", "bonds", True, 64, lambda: OneGNN(len(ATOM_FEATURES), edge_dim=EDGE_FEATURES), _mean_head
        ),
        "1-gnn-skip": Architecture(
            "1-GNN with skip connections",
            "bonds",
            True,
            64,
            lambda: OneGNN(len(ATOM_FEATURES), edge_dim=EDGE_FEATURES, skip=True),
            _mean_head,
        ),
        "mpnn": Architecture(
            "MPNN", "complete", False, 16, lambda: MPNN(len(ATOM_FEATURES), edge_dim=EDGE_FEATURES), _set_head
        ),
    },
)


@dataclass(frozen=True)
class Settings:
    """Everything that decides what a model becomes.

    Args:
        model: A name in ``MODELS``.
        drops: A name in ``DROPS``: none, random or exact.
        targets: What it predicts, one property or several.
        limit: Molecules to train, validate and test on, drawn at random; by default all.
        epochs: How often all training molecules are seen.
        batch_size: Molecules per step, over all ranks; by default the model's own.
        preset: How p, r and the auxiliary loss are chosen.
        chemistry: As for :meth:`~dropgnn.data.qm9.dataset.QM9.graphs`.
        seed: For the split, the weights, the batches and the runs.
    """

    model: str = "1-gnn"
    drops: str = "random"
    targets: tuple[str, ...] = ("gap",)
    limit: int | None = None
    epochs: int = 300
    batch_size: int | None = None
    preset: str = "paper"
    chemistry: str = "sanitized"
    seed: int = 0

    def __post_init__(self) -> None:
        MODELS[self.model], DROPS[self.drops], PRESETS[self.preset]
        if isinstance(self.targets, str) or not isinstance(self.targets, Sequence):
            raise InvalidArgument("targets", "must be properties in a tuple", got=self.targets, hint='e.g. ("gap",)')
        if not self.targets or len(set(self.targets)) < len(self.targets):
            raise InvalidArgument("targets", "must be one or more different properties", got=list(self.targets))
        for target in self.targets:
            TARGETS[target]
        whole_number("epochs", self.epochs, least=1)
        whole_number("seed", self.seed, least=0)
        for name, value, least in (("batch_size", self.batch_size, 1), ("limit", self.limit, FEWEST)):
            if value is not None:
                whole_number(name, value, least=least)
        one_of("chemistry", self.chemistry, CHEMISTRY)

    @property
    def architecture(self) -> Architecture:
        return MODELS[self.model]

    @property
    def title(self) -> str:
        """
        >>> Settings(model="mpnn").title, Settings(drops="exact").title, Settings(drops="none").title
        ('DropMPNN', 'Drop-1-GNN, exact', '1-GNN')
        """
        title = self.architecture.title
        if self.drops == "none":
            return title
        return f"Drop{'-' * title[0].isdigit()}{title}" + ", exact" * (self.drops == "exact")


def build(settings: Settings, m: int) -> DropGNN:
    """The model for molecules of m atoms on average: m runs, with the preset's p, 2/m in the paper."""
    of_kind("settings", settings, Settings)
    m = whole_number("m", m, least=1)
    preset, architecture = PRESETS[settings.preset], settings.architecture
    encoder = architecture.encoder()
    head, auxiliary = (architecture.head(encoder.out_channels, len(settings.targets)) for _ in range(2))
    return DropGNN(
        encoder,
        DROPS[settings.drops](preset.p_real(m), m),
        head=head,
        auxiliary=auxiliary if settings.drops != "none" and preset.auxiliary_share else None,
    )
