"""Graphs as files have them: on some of their nodes."""

from __future__ import annotations

import torch
from torch_geometric.utils import subgraph

from dropgnn.data.raw import RawGraphs


def random_graphs(generator: torch.Generator) -> RawGraphs:
    """Graphs of up to five nodes, some without nodes or edges, with all that can be said about them."""
    nodes = torch.randint(0, 6, (30,), generator=generator)
    present = [torch.rand(int(n), int(n), generator=generator) < 0.4 for n in nodes]
    edge_index = [(matrix | matrix.t()).nonzero().t() for matrix in present]
    edges = torch.tensor([part.size(1) for part in edge_index])
    return RawGraphs(
        nodes, edges, torch.cat(edge_index, dim=1), torch.arange(30), tag=torch.arange(int(nodes.sum())),
        attributes=torch.rand(int(nodes.sum()), 2, generator=generator), edge_label=torch.arange(int(edges.sum())),
    )  # fmt: skip


def test_induced_graphs_are_pygs_subgraphs() -> None:
    generator = torch.Generator().manual_seed(0)
    for _ in range(10):
        raw = random_graphs(generator)
        kept = torch.rand(int(raw.nodes.sum()), generator=generator) < 0.6
        induced = raw.induced(kept)
        assert induced.is_consistent
        for name in ("tag", "attributes"):
            assert torch.equal(getattr(induced, name), getattr(raw, name)[kept]), name
        assert raw.edge_label is not None
        assert induced.edge_label is not None
        nodes, edges = raw.nodes.tolist(), raw.edges.tolist()
        parts = zip(kept.split(nodes), raw.edge_index.split(edges, dim=1), raw.edge_label.split(edges), strict=True)
        expected = [subgraph(stays, *part, relabel_nodes=True, num_nodes=stays.numel()) for stays, *part in parts]
        assert torch.equal(induced.edge_index, torch.cat([edge_index for edge_index, _ in expected], dim=1))
        assert torch.equal(induced.edge_label, torch.cat([labels for _, labels in expected]))
        assert induced.nodes.tolist() == [int(stays.sum()) for stays in kept.split(nodes)]
        assert induced.edges.tolist() == [labels.numel() for _, labels in expected]
        assert torch.equal(raw.induced(torch.ones_like(kept)).edge_index, raw.edge_index)
