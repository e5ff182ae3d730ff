"""QM9 from text to batches: molecules whose graphs one knows by heart, and files that are damaged."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.datasets import qm9 as pyg_qm9

from dropgnn.data.qm9.arrays import CHEMISTRY
from dropgnn.data.qm9.bonds import with_bonds
from dropgnn.data.qm9.build import build_qm9
from dropgnn.data.qm9.dataset import QM9
from dropgnn.data.qm9.molecules import ATOM_FEATURES, BOND_TYPES
from dropgnn.data.qm9.source import PackFiles, Row, geometry, installed_files, read_rows
from dropgnn.data.qm9.targets import TARGETS
from dropgnn.errors import DataProblem, InvalidArgument

pytest.importorskip("rdkit", reason="molecules need the extra 'chem'")

FEW = 300


@pytest.fixture(scope="session")
def few(tmp_path_factory: pytest.TempPathFactory) -> QM9:
    """The first molecules of the dataset, and one that has rearranged."""
    folder = tmp_path_factory.mktemp("qm9")
    lines = []
    for number, path in enumerate(installed_files().files):
        with path.open(encoding="utf-8") as text:
            if number == 0:
                lines += list(islice(text, FEW + 1))
            elif number == 2:
                lines += [line for line in text if line.startswith('"dsgdb9nsd_133857')]
    (folder / "few.csv").write_text("".join(lines), encoding="utf-8")
    seen: list[int] = []
    build_qm9(PackFiles((folder / "few.csv",)), folder / "arrays", jobs=1, on_progress=seen.append)
    assert sum(seen) == FEW + 1
    return QM9.load(folder / "arrays")


def test_many_processes_make_the_same(few: QM9, tmp_path: Path) -> None:
    again = few.folder.parent / "few.csv"
    build_qm9(PackFiles((again,)), tmp_path / "arrays", jobs=2)
    for path in few.folder.iterdir():
        assert path.read_bytes() == (tmp_path / "arrays" / path.name).read_bytes()


def test_what_cannot_be_made_consistent_is_left_out_and_listed(few: QM9) -> None:
    assert len(few) == FEW
    assert [(one.number, one.smiles) for one in few.left_out] == [(133857, "CC1C2C3C4=CCC13C24")]


RING = [(0, 1), (0, 5), (1, 2), (2, 3), (3, 4), (4, 5)]
KNOWN = {  # hydrogens at every heavy atom, their hybridisation, bonds between heavy atoms
    1: ("C", "C", [4], ["sp3"], {}),
    3: ("O", "O", [2], ["sp3"], {}),
    5: ("C#N", "CN", [1, 0], ["sp", "sp"], {(0, 1): "triple"}),
    19: (
        "CC(N)=O", "CCNO", [3, 0, 2, 0], ["sp3", "sp2", "sp2", "sp2"], {(0, 1): "single", (1, 2): "single", (1, 3): "double"}
    ),
    184: ("FC(F)(F)F", "FCFFF", [0] * 5, ["sp3"] * 5, {(0, 1): "single"} | {(1, other): "single" for other in (2, 3, 4)}),
    214: ("C1=CC=CC=C1", "CCCCCC", [1] * 6, ["sp2"] * 6, dict.fromkeys(RING, "aromatic")),
}  # fmt: skip
PROPERTIES = {
    1: [0.0, 13.21, -0.3877, 0.1171, 0.5048, 35.3641, 0.044749, -40.47893, -40.476062, -40.475117, -40.498597, 6.469],
    3: [1.8511, 6.31, -0.2928, 0.0687, 0.3615, 19.0002, 0.021375, -76.404702, -76.401867, -76.400922, -76.422349, 6.002],
    5: [2.8937, 12.99, -0.3604, 0.0191, 0.3796, 48.7476, 0.016601, -93.411888, -93.40937, -93.408425, -93.431246, 6.278],
    19: [3.6367, 31.83, -0.2436, 0.0347, 0.2783, 267.6148, 0.07319, -209.159302, -209.15402, -209.153076, -209.187468, 16.561],
    184: [0.0003, 15.93, -0.4286, 0.1935, 0.6221, 279.3208, 0.017147, -437.484875, -437.480956, -437.480011, -437.512059, 12.639],
    214: [0.0, 57.28, -0.2475, 0.0029, 0.2503, 456.6788, 0.100175, -232.164586, -232.160188, -232.159244, -232.192047, 17.214],
}  # fmt: skip


NUMBERS = {"C": 6, "N": 7, "O": 8, "F": 9}


@pytest.mark.parametrize("number", KNOWN)
def test_molecules_one_knows(number: int, few: QM9) -> None:
    smiles, heavy, hydrogens, mixed, bonds = KNOWN[number]
    (place,) = np.flatnonzero(few.number == number)
    batch = few.graphs("bonds").batch([int(place)])
    assert few.smiles[place] == smiles
    expected = [
        {
            symbol: 1,
            "atomic number": NUMBERS[symbol],
            "aromatic": int("aromatic" in bonds.values()),
            kind: 1,
            "hydrogens": many,
        }
        for symbol, kind, many in zip(heavy, mixed, hydrogens, strict=True)
    ] + [{"H": 1, "atomic number": 1}] * sum(hydrogens)
    assert batch.x.tolist() == [[atom.get(name, 0) for name in ATOM_FEATURES] for atom in expected]
    found = {}
    for (one, other), attr in zip(batch.edge_index.t().tolist(), batch.edge_attr.tolist(), strict=True):
        (found[one, other],) = [name for name, is_one in zip(BOND_TYPES, attr[:4], strict=True) if is_one]
        assert sorted(attr[:4]) == [0, 0, 0, 1]
        assert 0.9 < attr[4] < 1.6
        assert attr[4] == pytest.approx(float((batch.position[one] - batch.position[other]).norm()))
    assert found == {ends[::-1]: kind for ends, kind in found.items()}
    assert {ends: kind for ends, kind in found.items() if ends[0] < ends[1] < len(heavy)} == bonds
    with_hydrogens = [(ends[0], kind) for ends, kind in found.items() if ends[0] < len(heavy) <= ends[1]]
    assert [with_hydrogens.count((atom, "single")) for atom in range(len(heavy))] == hydrogens
    assert len(found) == 2 * (len(bonds) + sum(hydrogens))
    assert batch.y[0].tolist() == PROPERTIES[number]
    assert few.target("gap")[place] == pytest.approx(few.target("lumo")[place] - few.target("homo")[place], abs=2e-4)


def test_both_kinds_of_graphs_say_the_same_about_bonds(few: QM9) -> None:
    chosen = [200, 3, 40, 3]
    bonds, complete = (few.graphs(kind).batch(chosen) for kind in ("bonds", "complete"))
    atoms = torch.bincount(complete.batch)
    assert complete.num_edges == int((atoms * (atoms - 1)).sum())
    assert torch.equal(bonds.x, complete.x)
    assert (complete.edge_index[0] != complete.edge_index[1]).all()
    assert torch.equal(complete.batch[complete.edge_index[0]], complete.batch[complete.edge_index[1]])
    rows = {
        tuple(ends): features
        for ends, features in zip(complete.edge_index.t().tolist(), complete.edge_attr.tolist(), strict=True)
    }
    assert len(rows) == complete.num_edges
    for ends, features in zip(bonds.edge_index.t().tolist(), bonds.edge_attr.tolist(), strict=True):
        assert rows.pop(tuple(ends)) == features
    assert all(features[:4] == [0.0] * 4 for features in rows.values())
    one, other = complete.edge_index
    lengths = (complete.position[one] - complete.position[other]).norm(dim=1)
    assert torch.equal(lengths, complete.edge_attr[:, 4])
    water = few.graphs("bonds").batch([2])
    assert water.edge_attr[:, 4].tolist() == pytest.approx([0.9620] * 4, abs=1e-3)


def test_distances_scaled_by_molecule(few: QM9) -> None:
    plain, scaled = (few.graphs("bonds", scaled=scaled).batch([50, 120]) for scaled in (False, True))
    graph = plain.batch[plain.edge_index[0]]
    for number in range(2):
        of_graph = plain.edge_attr[graph == number, 4]
        torch.testing.assert_close(scaled.edge_attr[graph == number, 4], of_graph / of_graph.max())


def test_unsanitised_as_in_pyg(few: QM9) -> None:
    (benzene,) = np.flatnonzero(few.number == 214)
    batch = few.graphs("bonds", chemistry="pyg").batch([int(benzene)])
    assert not batch.x[:, 6:10].any()
    assert batch.edge_attr[:, :4].sum(dim=0).tolist() == [18.0, 6.0, 0.0, 0.0]  # 6 C-H, 3 C-C and 3 C=C, both ways
    with pytest.raises(InvalidArgument, match="'chemistry' must be one of sanitized, pyg"):
        few.graphs("bonds", chemistry="best")
    with pytest.raises(InvalidArgument, match="'kind' must be one of bonds, complete"):
        few.graphs("rings")


def test_atoms_in_another_order_are_found(few: QM9) -> None:
    """Coordinates shuffled: the SMILES is laid over them, and every atom keeps its neighbours."""
    row = next(row for row in read_rows(installed_files().files) if row.number == 19)
    elements, position = geometry(row)
    order = np.random.default_rng(0).permutation(len(elements))
    mol = with_bonds(row.smiles, [elements[number] for number in order], position[order])
    assert mol is not None
    assert [atom.GetSymbol() for atom in mol.GetAtoms()] == [elements[number] for number in order]
    lengths = [
        np.linalg.norm(position[order[bond.GetBeginAtomIdx()]] - position[order[bond.GetEndAtomIdx()]])
        for bond in mol.GetBonds()
    ]
    assert max(lengths) < 1.6
    assert with_bonds("CCO", elements, position) is None
    assert with_bonds("not a molecule", elements, position) is None


def test_numbers_that_json_does_not_know() -> None:
    elements, position = geometry(Row(1, "O", "['O','H']", "[[0.,-1.5,2.],[1e-3,0.25,3.]]", ()))
    assert elements == ["O", "H"]
    assert position.tolist() == [[0.0, -1.5, 2.0], [1e-3, 0.25, 3.0]]


def test_damage_is_said(few: QM9, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("Index,SMILES\n1,C\n")
    with pytest.raises(DataProblem, match=r"bad.csv, row 2: not a molecule"):
        list(read_rows([tmp_path / "bad.csv"]))
    with pytest.raises(DataProblem, match=r"none.csv is missing"):
        list(read_rows([tmp_path / "none.csv"]))
    damaged = tmp_path / "arrays"
    damaged.mkdir()
    for path in few.folder.iterdir():
        (damaged / path.name).write_bytes(path.read_bytes()[:200] if path.name == "x.npy" else path.read_bytes())
    with pytest.raises(DataProblem, match=r"is damaged .*remove it"):
        QM9.load(damaged)


def test_every_target_has_a_unit() -> None:
    assert len(TARGETS) == 12
    assert all(target.unit and target.title for target in TARGETS.values())
    with pytest.raises(InvalidArgument, match="'target' must be one of mu, alpha"):
        TARGETS["mass"]


CHOSEN = [0, 2, 213, 18]
TABLE = (
    "mol_id", "A", "B", "C", "mu", "alpha", "homo", "lumo", "gap", "r2", "zpve", "u0", "u298", "h298", "g298", "cv",
    "u0_atom", "u298_atom", "h298_atom", "g298_atom",
)  # fmt: skip


def write_folder_of_pyg(few: QM9, folder: Path) -> list[str]:
    """A folder as PyG's QM9 downloads it, with molecules of ours, the last of which is named as doubtful."""
    from rdkit import Chem

    raw = folder / "raw"
    numbers = [int(few.number[place]) for place in CHOSEN]
    raw.mkdir()
    by_number = {row.number: row for row in islice(read_rows(installed_files().files), FEW)}
    with Chem.SDWriter(str(raw / "gdb9.sdf")) as writer:
        for number in numbers:
            elements, position = geometry(by_number[number])
            mol = with_bonds(by_number[number].smiles, elements, position)
            assert mol is not None
            conformer = Chem.Conformer(len(elements))
            for atom, place in enumerate(position.tolist()):
                conformer.SetAtomPosition(atom, place)
            mol.RemoveAllConformers()
            mol.AddConformer(conformer)
            mol.SetProp("_Name", f"gdb_{number}")
            writer.write(mol)
    lines = [
        ",".join([f"gdb_{number}", "1", "2", "3", *map(repr, by_number[number].properties), "4", "5", "6", "7"])
        for number in numbers
    ]
    (raw / "gdb9.sdf.csv").write_text("\n".join([",".join(TABLE), *lines]) + "\n")
    (raw / "uncharacterized.txt").write_text("\n" * 9 + "  4  doubtful\n" + "3 compounds\n")
    return lines


def test_a_folder_of_pyg_is_read_as_pyg_reads_it(few: QM9, tmp_path: Path) -> None:
    write_folder_of_pyg(few, tmp_path)
    ours, theirs = QM9.load(tmp_path / "arrays", pyg_folder=tmp_path, jobs=1), pyg_qm9.QM9(str(tmp_path))
    assert len(ours) == len(theirs) == 3
    graphs = ours.graphs("bonds", chemistry="pyg")
    for number, data in enumerate(theirs):
        batch = graphs.batch([number])
        assert torch.equal(batch.x, data.x)
        order = (batch.edge_index[0] * batch.num_nodes + batch.edge_index[1]).argsort()
        assert torch.equal(batch.edge_index[:, order], data.edge_index)
        assert torch.equal(batch.edge_attr[order, :4], data.edge_attr)
        torch.testing.assert_close(batch.position, data.pos)
        in_their_units = batch.y * pyg_qm9.conversion[: len(TARGETS)]  # energies in eV
        torch.testing.assert_close(in_their_units.float(), data.y[:, : len(TARGETS)])


def test_a_folder_of_pyg_has_the_same_molecules(few: QM9, tmp_path: Path) -> None:
    lines, raw = write_folder_of_pyg(few, tmp_path), tmp_path / "raw"
    found = QM9.load(tmp_path / "arrays", pyg_folder=tmp_path, jobs=1)
    assert len(found) == 3
    for chemistry in CHEMISTRY:
        ours = few.graphs("complete", chemistry=chemistry).batch(CHOSEN[:3])
        theirs = found.graphs("complete", chemistry=chemistry).batch([0, 1, 2])
        assert torch.equal(ours.x, theirs.x)
        assert torch.equal(ours.edge_index, theirs.edge_index)
        torch.testing.assert_close(ours.edge_attr, theirs.edge_attr, atol=1e-3, rtol=0)  # 4 decimals in the file
        assert torch.equal(ours.y, theirs.y)
    (raw / "gdb9.sdf.csv").write_text(",".join(TABLE) + "\n" + "\n".join([*lines, lines[0]]) + "\n")
    with pytest.raises(DataProblem, match=r"gdb9.sdf has fewer molecules"):
        QM9.load(tmp_path / "more", pyg_folder=tmp_path, jobs=1)
    (raw / "gdb9.sdf").unlink()
    with pytest.raises(DataProblem, match=r"gdb9.sdf is missing"):
        QM9.load(tmp_path / "none", pyg_folder=tmp_path)


@pytest.mark.heavy
def test_all_of_it_has_the_statistics_of_the_paper(tmp_path: Path) -> None:
    """The paper's table: 130,831 graphs, 3 to 29 nodes, 18 in the mean. Its largest degrees are 2 to 5, 3.97 in the mean; in the
    SMILES no atom has five neighbours."""
    qm9 = QM9.load(tmp_path / "arrays")
    assert len(qm9) + len(qm9.left_out) == 130_831
    assert [one.number for one in qm9.left_out] == [133857, 133859]
    assert (int(qm9.atoms.min()), int(qm9.atoms.max()), round(float(qm9.atoms.mean()))) == (3, 29, 18)
    graphs, largest = qm9.graphs("bonds"), []
    for chosen in torch.arange(len(qm9)).split(10_000):
        batch = graphs.batch(chosen)
        degree = torch.bincount(batch.edge_index[1], minlength=batch.num_nodes)
        largest.append(degree.new_zeros(len(chosen)).scatter_reduce(0, batch.batch, degree, "amax"))
    degrees = torch.cat(largest)
    assert (int(degrees.min()), int(degrees.max()), round(float(degrees.double().mean()), 2)) == (2, 4, 3.96)
