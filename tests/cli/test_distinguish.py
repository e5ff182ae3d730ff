"""``dropgnn distinguish`` and ``dropgnn plan``: which GNN a verdict is for, attributes of files, and wrong arguments."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest

from dropgnn.cli.plan import TASKS
from dropgnn.data.synthetic import SYNTHETIC
from tests.cli.running import dropgnn

BLIND = "G?qtdo\nGCpbTW\n"


def molecules(folder: Path) -> tuple[str, str]:
    """Two paths with the atoms and the bonds in another order, as GraphML."""
    for name, atoms, orders in (("a", "CCO", (1, 2)), ("b", "COC", (1, 2))):
        graph = nx.path_graph(3)
        nx.set_node_attributes(graph, dict(enumerate(atoms)), "element")
        nx.set_edge_attributes(graph, {(0, 1): orders[0], (1, 2): orders[1]}, "order")
        nx.write_graphml(graph, folder / f"{name}.graphml")
    return str(folder / "a.graphml"), str(folder / "b.graphml")


def test_epsilon_0(tmp_path: Path) -> None:
    (tmp_path / "blind.g6").write_text(BLIND)
    arguments = ("distinguish", str(tmp_path / "blind.g6"), "--mode", "zero", "--max-k", "1")
    strong, paper = dropgnn(*arguments), dropgnn(*arguments, "--eps", "0")
    assert "dropouts of 1 node do (any depth), and no fewer" in strong.stdout
    assert "true of GNNs as strong as 1-WL, such as GIN with eps = 0.5; GIN with eps = 0 may see less" in strong.stdout
    assert paper.stdout == (
        "no dropout of up to 1 node separates the pair (any depth, 9 dropped sets each)\ntrue of GIN with eps = 0\n"
    )
    none = dropgnn("distinguish", "example1", "--max-k", "0")
    assert none.stdout.startswith("1-WL does not separate the pair (any depth), and no dropouts were tried\n")


def test_attributes_of_files_count(tmp_path: Path) -> None:
    files = molecules(tmp_path)
    shown = dropgnn("distinguish", *files)
    assert shown.stdout.startswith("1-WL separates the pair (any depth): no dropout is needed")
    assert "attributes of nodes: element; edges: order (--ignore-attributes leaves them out)" in shown.stdout
    bare = dropgnn("distinguish", *files, "--ignore-attributes")
    assert bare.stdout.startswith("A and B are the same graph: nothing separates them")
    twice = dropgnn("distinguish", files[0], files[0])
    assert twice.stdout.startswith("A and B are the same graph: nothing separates them")


def test_attributes_that_only_one_graph_has(tmp_path: Path) -> None:
    a, _ = molecules(tmp_path)
    (tmp_path / "b.edges").write_text("x y\ny z\n")
    shown = dropgnn("distinguish", a, str(tmp_path / "b.edges"))
    assert shown.returncode == 2
    assert "different attributes (A: nodes: element; edges: order; B: none)" in shown.stderr.replace("\n", " ")
    same = dropgnn("distinguish", a, str(tmp_path / "b.edges"), "--ignore-attributes")
    assert "the same graph with its nodes in another order" in same.stdout or "the same graph:" in same.stdout


def test_edges_alone_can_differ(tmp_path: Path) -> None:
    """Hexagons with single and double bonds: alternating, or three of each in a row."""
    for name, orders in (("a", (1, 2, 1, 2, 1, 2)), ("b", (1, 1, 1, 2, 2, 2))):
        ring = nx.cycle_graph(6)
        bonds = {(node, (node + 1) % 6): order for node, order in enumerate(orders)}
        nx.set_edge_attributes(ring, {edge: bonds.get(edge, bonds.get(edge[::-1])) for edge in ring.edges}, "order")
        nx.write_graphml(ring, tmp_path / f"{name}.graphml")
    shown = dropgnn("distinguish", str(tmp_path / "a.graphml"), str(tmp_path / "b.graphml"))
    assert shown.stdout.startswith("1-WL separates the pair")
    refused = dropgnn("distinguish", str(tmp_path / "a.graphml"), str(tmp_path / "b.graphml"), "--eps", "0")
    assert (refused.returncode, "GIN does not read the colours of edges" in refused.stderr) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("figure3:0",), "there is no pair 'figure3:0': figure3: must be followed by a number from 3 to 49"),
        (("brec:400",), "must be followed by a number from 0 to 399"),
        (
            ("example1", "--nodes", "99", "0"),
            "'--nodes' must be a node of A, 0 to 7, and a node of B, 0 to 7 (got 99 0)",
        ),
        (("example1", "--budget", "3"), "'--budget' must allow the 9 dropped sets of up to 1 of 8 nodes (got 3)"),
        (("example1", "--budget", "3"), "raise --budget, or take --max-k 0"),
        (("example1", "--p", "2"), "'--p' must be a number between 0 and 1"),
        (("example1", "--p", "1e-999999999"), "'--p' must be a number between 0 and 1"),
        (("example1", "--eps", "x"), "'--eps' must be a number of at least -1"),
        (("example1", "--eps", "1e999999999"), "'--eps' must be a number of at least -1"),
        (
            ("example1", "--ignore-attributes"),
            "'--ignore-attributes' must be left out where neither graph has attributes",
        ),
        (("nope.graphml", "other.graphml"), "there is no file nope.graphml"),
    ],
)
def test_wrong_arguments_of_distinguish(arguments: tuple[str, ...], message: str) -> None:
    shown = dropgnn("distinguish", *arguments)
    assert shown.returncode == 2
    assert message in " ".join(shown.stderr.split())


def test_wrong_arguments_need_no_heavy_imports(tmp_path: Path) -> None:
    """Each of these is answered before torch, numba or PyG are imported."""
    (tmp_path / "labels.csv").write_text("graph,label\n0,1\n")
    for given in (
        ["distinguish", "nope.graphml", "other.graphml"],
        ["distinguish", "example1", "--nodes", "9", "9"],
        ["distinguish", "figure3:0"],
        ["plan", "nope.graphml"],
        ["plan", str(tmp_path / "labels.csv")],
        ["plan", "atlantis"],
        ["plan", "lcc", "--delta", "2"],
    ):
        code = (
            f"import sys; sys.argv = ['dropgnn', *{given!r}]\nfrom dropgnn.cli.main import app\n"
            "try:\n    app()\nexcept SystemExit as left:\n    heavy = {'torch', 'numba', 'torch_geometric'} & set(sys.modules)\n"
            "    print(left.code, sorted(heavy))"
        )
        shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert shown.stdout == "2 []\n", given


def test_plan_knows_the_synthetic_tasks() -> None:
    assert tuple(SYNTHETIC) == TASKS


def test_a_table_of_labels_is_no_graph(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("graph,label\n0,1\n1,0\n2,1\n")
    shown = dropgnn("plan", str(tmp_path / "labels.csv"))
    assert shown.returncode == 2
    assert "labels.csv, line 1: 'graph, label' is not the heading of a list of edges" in " ".join(shown.stderr.split())


def test_any_number_of_hops_is_answered_at_once(tmp_path: Path) -> None:
    (tmp_path / "path.edges").write_text("".join(f"{node} {node + 1}\n" for node in range(2_000)))
    shown = dropgnn("plan", str(tmp_path / "path.edges"), "--hops", "100000")
    assert "gamma 2000.00 mean size of 100000-hop" in " ".join(shown.stdout.split())


def test_advice_for_one_edge_and_for_a_large_hub(tmp_path: Path) -> None:
    """Where p* is not 1/(1 + gamma), and where it has no four decimals."""
    (tmp_path / "edge.csv").write_text("0,1\n")
    (tmp_path / "hub.csv").write_text("".join(f"0,{leaf}\n" for leaf in range(1, 30_001)))
    (tmp_path / "node.edges").write_text("a\n")
    said = {path.stem: " ".join(dropgnn("plan", str(path)).stdout.split()) for path in tmp_path.iterdir()}
    assert "p* 0.5000 1 / (1 + gamma), best for 1-dropouts" in said["edge"]
    assert "p* 3.3e-05 1 / (1 + gamma)" in said["hub"]
    assert "graphs 1 1 node gamma" in said["node"]
    assert "p* 0.5000 1 / (1 + gamma), at most 1/2" in said["node"]
