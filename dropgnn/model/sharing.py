"""How far equal rows are computed once, for those who ask; and one line for layers that nobody knows."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from dropgnn.engine.intercept import install
from dropgnn.engine.rules.general import general_rule
from dropgnn.engine.rules.rule import RULES
from dropgnn.engine.shared import share
from dropgnn.errors import InvalidArgument, whole_number, yes_or_no
from dropgnn.graph import Graph
from dropgnn.runs.runs import Runs

if TYPE_CHECKING:
    from dropgnn.model.embedding import Embedding


@dataclass(frozen=True)
class SharingReport:
    """How far one batch is shared; ``print`` says it in a few lines.

    Args:
        name: The class of the encoder.
        rows: Rows per layer in all copies.
        distinct: Distinct rows before the first layer and after each that was shared.
        endings: Where sharing ended, the first time first; none where it did not.
        hint: What would keep it, as far as that is known.
    """

    name: str
    rows: int
    distinct: tuple[int, ...]
    endings: tuple[str, ...]
    hint: str

    @property
    def saved(self) -> float:
        """How many times fewer rows the shared layers compute."""
        return self.rows * len(self.distinct) / max(sum(self.distinct), 1)

    def __str__(self) -> str:
        counts = ", ".join(f"{number:,}" for number in self.distinct)
        lines = [f"{self.name}: {self.rows:,} rows per layer in all copies; distinct, layer by layer: {counts}"]
        if not self.endings:
            lines.append(f"shared to the end: {self.saved:.1f} times fewer rows")
        else:
            lines += [f"shared as far as {self.endings[0]}; from there every copy is computed"]
            lines += [f"what would keep it: {self.hint}"] if self.hint else []
        return "\n".join(lines)


def report(embed: Embedding, graph: Graph, runs: Runs) -> SharingReport:
    """Run a copy of the encoder once, and say what happened."""
    model = embed.model
    name = type(model.encoder).__name__
    rows = int(graph.nodes_per_graph @ runs.copies_per_graph)
    if embed.obstacle is not None:
        return SharingReport(name, rows, (), (embed.obstacle,), "")
    devices = [graph.x.device] if graph.x.is_cuda else []
    with torch.no_grad(), torch.random.fork_rng(devices=devices):
        encoder = copy.deepcopy(model.encoder)
        _, sharing = share(encoder, model.mode, graph, runs, pooled=model.pooled, trace=True)
    endings = tuple(str(one) for one in sharing.ended)
    return SharingReport(name, rows, tuple(sharing.plan.states[: sharing.depth + 1]), endings, _hint(endings))


def _hint(endings: Sequence[str]) -> str:
    """What would keep sharing from ending there."""
    first = endings[0] if endings else ""
    if "dropout while training" in first or "at random while training" in first:
        return "evaluation, or training without feature dropout"
    if "share_layer(" in first:
        return "the line named there"
    if "Norm" in first:
        return "a norm of single rows, or batch norm"
    return ""


def share_layer(kind: type[torch.nn.Module], *, hops: int = 1, degrees: bool = False) -> None:
    """Say that layers of a class look at their own row and at what arrives along edges, and at nothing else.

    Equal rows are then computed once. :func:`dropgnn.testing.assert_layer_looks_only_at_its_edges` tries whether it is true.

    Args:
        kind: The class itself; classes derived from it are not meant.
        hops: How many steps along edges a row can come from.
        degrees: Whether it looks at the degrees of those it hears, as GCN's normalisation does.

    >>> import torch_geometric.nn as pyg
    >>> class Scaled(pyg.GraphConv):
    ...     def forward(self, x, edge_index):
    ...         return 2 * super().forward(x, edge_index)
    >>> share_layer(Scaled)
    """
    if not (isinstance(kind, type) and issubclass(kind, torch.nn.Module)):
        raise InvalidArgument("kind", "must be a class of torch.nn.Module", got=kind)
    rounds = whole_number("hops", hops, least=1, most=1_000) + yes_or_no("degrees", degrees)
    RULES[kind] = general_rule(kind, rounds=lambda module: rounds)
    install()
