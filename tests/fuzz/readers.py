"""Every way into the package for a file from outside. What is imported here is imported when it is used: some of it is heavy."""

from __future__ import annotations

import json
import zipfile
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch

from dropgnn.errors import DataProblem, InvalidArgument
from dropgnn.files import read_json
from dropgnn.tensor_files import load_tensors, save_tensors
from tests.data.test_datasets import write_tu
from tests.fuzz.engine import Reader

NOT_READERS = {
    "data.qm9.build": "flushes files to the disk that it has written itself",
    "cli.files": "tries whether a folder can be written into",
    "testing": "reads /proc/self/status",
}
"""Modules that open files and are no way in for a user's, with the reason."""

GIN = "3\n3 0\n0 1 1\n1 2 0 2\n0 1 1\n1 1\n7 0\n2 0\n0 1 1\n0 1 0\n"
GRAPHS = {
    ".g6": ">>graph6<<A_\nDhc\nE???\n",
    ".edges": "# a comment\na b\nb,c\nc;d {}\ne\n",
    ".csv": "source,target\n1,2\n2,3\n3,1\n",
    ".graphml": '<?xml version="1.0" encoding="utf-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    '<key id="d0" for="node" attr.name="colour" attr.type="long"/><graph edgedefault="undirected"><node id="a">'
    '<data key="d0">1</data></node><node id="b"/><edge source="a" target="b"/></graph></graphml>\n',
    ".txt": GIN,
}


def _write_text(name: str, text: str) -> Any:
    def write(folder: Path) -> Path:
        (folder / name).write_text(text, encoding="utf-8")
        return folder / name

    return write


def _read_graphs(path: Path) -> object:
    from dropgnn.data.files import read_graphs

    return [(data.num_nodes, data.edge_index.sum()) for data in read_graphs(path)]


def _features_of(raw: Any) -> None:
    from dropgnn.data.recipes import FEATURES

    assert raw.is_consistent
    for make in FEATURES.values():
        try:
            make(raw)
        except InvalidArgument:  # the files have no labels, say
            continue


def _write_tu(folder: Path) -> Path:
    labels = {"node_labels": "3\n4\n3\n4\n4\n", "edge_labels": "1\n1\n0\n0\n1\n1\n"}
    return write_tu(folder / "SMALL", node_attributes="0.5, 1\n0.25, 2\n0, 3\n0, 4\n0, 5\n", **labels)


def _read_tu(folder: Path) -> None:
    from dropgnn.data.tu_folder import read_tu_folder

    _features_of(read_tu_folder(folder, "SMALL"))


def _write_folds(folder: Path) -> Path:
    (folder / "10fold_idx").mkdir()
    for number in range(10):
        (folder / "10fold_idx" / f"test_idx-{number + 1}.txt").write_text(f"{number}\n")
        others = "".join(f"{one}\n" for one in range(10) if one != number)
        (folder / "10fold_idx" / f"train_idx-{number + 1}.txt").write_text(others)
    return folder


def _read_folds(folder: Path) -> object:
    from dropgnn.data.folds import published_folds

    return published_folds(folder, 10)


def _write_parsed(folder: Path) -> Path:
    from dropgnn.data import cache as kept
    from dropgnn.data.gin_text import read_gin_text
    from dropgnn.data.raw import RawGraphs

    (folder.parent / "source.txt").write_text(GIN)
    with mock.patch.object(kept, "cache_folder", return_value=folder):
        kept._save("source", RawGraphs.of(read_gin_text(folder.parent / "source.txt")))
    return folder


def _read_parsed(folder: Path) -> None:
    from dropgnn.data import cache as kept

    with mock.patch.object(kept, "cache_folder", return_value=folder):
        found = kept._load("source")
    if found is None:
        raise DataProblem(f"{folder}: what was kept is not used")
    _features_of(found)


def _parse_again(path: Path) -> object:
    from dropgnn.data import cache as kept
    from dropgnn.data.gin_text import read_gin_text
    from dropgnn.data.raw import RawGraphs

    with mock.patch.object(kept, "_save"):
        return kept.parsed([path], lambda: RawGraphs.of(read_gin_text(path)))


def _write_archive(folder: Path) -> Path:
    write_tu(folder.parent / "FUZZ")
    with zipfile.ZipFile(folder / "FUZZ.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted((folder.parent / "FUZZ").iterdir()):
            packed.write(path, f"FUZZ/{path.name}")
    return folder / "FUZZ.zip"


def _read_archive(path: Path) -> None:
    from dropgnn.data import archives, download

    with (
        mock.patch.object(download, "_fetch", return_value=path),
        mock.patch.dict(archives.STATISTICS, FUZZ=archives.Statistics(2, 2.5)),
    ):
        download.download_tu("FUZZ", path.parent / "downloaded")


def _write_brec(folder: Path) -> Path:
    from dropgnn.data.brec import FILES

    for name, pairs in FILES.items():
        codes = ["Dhc" if name in ("cfi", "dr") else b"Dhc"] * (2 * pairs)
        np.save(folder / f"{name}.npy", np.array(codes))
    return folder


def _write_published(folder: Path) -> Path:
    from dropgnn.data.brec import FILES, PUBLISHED, RELABELLED

    np.save(folder / PUBLISHED, np.array([b"A_"] * (2 * RELABELLED * sum(FILES.values()))))
    return folder


def _read_brec(folder: Path) -> object:
    from dropgnn.data.brec import load_brec

    return [pair.a.size() for pair in load_brec(folder, download=False)]


def _water(shift: float = 0.0) -> Any:
    from dropgnn.data.qm9.molecules import Molecule

    x = np.zeros((3, 11), np.uint8)
    x[0, 2], x[1:, 0], x[:, 5], x[0, 10] = 1, 1, (8, 1, 1), 2
    position = np.array([[0, 0, 0.1], [0, 0.76, -0.5], [0, -0.76, -0.5]], np.float32) + np.float32(shift)
    kinds = np.zeros(2, np.uint8)
    return Molecule(x, np.array([[0, 1], [0, 2]], np.uint8), kinds, kinds, position)


@cache
def _molecules() -> Any:
    from dropgnn.data.qm9.arrays import Arrays

    properties = np.random.default_rng(0).normal(size=(12, 12))
    return Arrays.of([_water(0.01 * number) for number in range(12)], properties)


def _write_qm9(folder: Path) -> Path:
    arrays = vars(_molecules()) | {"number": np.arange(1, 13, dtype=np.int32)}
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    (folder / "smiles.txt").write_text("O\n" * 12)
    (folder / "left_out.json").write_text(json.dumps([{"number": 13, "smiles": "C", "reason": "none"}]))
    return folder


def _read_qm9(folder: Path) -> object:
    from dropgnn.data.qm9.dataset import QM9

    found = QM9.load(folder)
    batches = [found.graphs(kind, scaled=True).batch(range(len(found))) for kind in ("bonds", "complete")]
    return found.smiles, found.left_out, batches


def _write_pack(folder: Path) -> Path:
    from dropgnn.data.qm9.targets import TARGETS

    columns = ["Index", "SMILES", "Elements", "XYZ_Ang", *(target.column for target in TARGETS.values())]
    places = "[[0.,0.,0.12],[0.,0.76,-0.48],[0.,-0.76,-0.48]]"
    row = ["3", "O", "\"['O','H','H']\"", f'"{places}"', *(f"{number}.5" for number in range(12))]
    lines = [",".join(columns), ",".join(row), ",".join(["4", *row[1:]])]
    (folder / "molecules.csv").write_text("\n".join(lines) + "\n")
    return folder / "molecules.csv"


def _made(source: Any) -> object:
    from rdkit import rdBase

    from dropgnn.data.qm9.arrays import Arrays

    with rdBase.BlockLogs():
        made = [source.make(row) for row in source.rows()]
    molecules = [one for one in made if one.molecule is not None]
    if not molecules:
        return None
    np.array([one.number for one in molecules], np.int32)
    graphs = Arrays.of([one.molecule for one in molecules], np.array([one.properties for one in molecules]))
    return graphs.graphs("complete").batch(range(len(graphs)))


def _read_pack(path: Path) -> object:
    from dropgnn.data.qm9.source import PackFiles

    return _made(PackFiles((path,)))


SDF = """gdb_3
     RDKit          3D

  3  2  0  0  0  0  0  0  0  0999 V2000
    0.0000    0.0000    0.1200 O   0  0
    0.0000    0.7600   -0.4800 H   0  0
    0.0000   -0.7600   -0.4800 H   0  0
  1  2  1  0
  1  3  1  0
M  END
$$$$
"""


def _write_pyg(folder: Path) -> Path:
    from dropgnn.data.qm9.pyg_folder import COLUMNS

    (folder / "raw").mkdir()
    rows = [",".join([name, *(f"{number}.25" for number in range(12))]) for name in ("gdb_3", "gdb_4", "gdb_5")]
    (folder / "raw" / "gdb9.sdf").write_text("".join(SDF.replace("gdb_3", f"gdb_{number}") for number in (3, 4, 5)))
    (folder / "raw" / "gdb9.sdf.csv").write_text("\n".join([",".join(["mol_id", *COLUMNS]), *rows]) + "\n")
    (folder / "raw" / "uncharacterized.txt").write_text("\n" * 9 + "  3  doubtful\n" + "3 compounds\n")
    return folder


def _read_pyg(folder: Path) -> object:
    from dropgnn.data.qm9.pyg_folder import PyGFolder

    return _made(PyGFolder(folder).check())


def _write_study(study: str, experiment: str) -> Any:
    """A few trials of a study, with results that are made up."""

    def write(folder: Path) -> Path:
        from dropgnn.experiments import beyond_wl, graph_classification, property_regression
        from dropgnn.experiments.archive import Archive, save_archive
        from dropgnn.experiments.summary import Found

        trials: list[Any]
        result: dict[str, Any]
        if experiment == "graph-classification":
            curve = [0.5, 0.75, 0.5, 0.625]
            result = {
                "curve": curve,
                "more_runs": curve,
                "test": None,
                "losses": [1.0],
                "trained": [0.5],
                "data": ["folds: x"],
            }
            kinds = [(drops, fold) for drops in ("none", "random") for fold in (0, 1)]
            trials = [graph_classification.Trial("MUTAG", "gin", drops, fold, epochs=4) for drops, fold in kinds]
        elif experiment == "property-regression":
            result = {"validation": 0.1, "test": 0.11, "best_epoch": 2, "curve": [[1.0, 0.5], [0.75, 0.25]]}
            trials = [property_regression.Trial("1-gnn", drops, "gap", 100, 2) for drops in ("none", "random")]
        else:
            tests = {str(runs): [0.5, 0.75] for runs in beyond_wl.TEST_RUNS}
            result = {"train": 1.0, "test": 0.5, "exact": {"exhaustive-1": 0.5, "exhaustive-2": 0.75}, "by_runs": tests}
            trials = [beyond_wl.Trial("limits1", "dropout", seed, 10) for seed in (0, 1)]
        found = tuple(Found(trial, result, 1.5, "a1b2") for trial in trials)
        archive = Archive(study, study, found, 9, {"torch": "2"}, f"dropgnn reproduce {study} --quick", experiment)
        assert save_archive(folder, archive)
        return folder / f"{study}.json"

    return write


def _read_study(path: Path) -> object:
    from dropgnn.experiments.archive import load_archive
    from dropgnn.experiments.studies import STUDIES
    from dropgnn.experiments.summary import Sheet

    archive = load_archive(path)
    shown: list[object] = [f"{sum(one.seconds for one in archive.found):.1f} {archive.planned} {archive.made_by}"]
    for part in STUDIES[archive.study].summarize(archive.found):
        if isinstance(part, Sheet):
            shown += [f"{cell} {cell.verdict}" for _, cells in part.upright().rows for cell in cells]
        else:
            shown += [np.mean(values) for curve in part.curves for _, values in curve.points if values]
    return "".join(map(str, shown)).encode()


@dataclass(frozen=True)
class Square:
    """A trial."""

    number: int


def _store(folder: Path) -> Any:
    from dropgnn.experiments.store import Store

    return Store(folder, "squares")


def _write_trial(folder: Path) -> Path:
    _store(folder).put(Square(3), {"square": 9, "more": [1.5]}, seconds=1.0, made_by={"dropgnn": "0.1", "commit": "a"})
    return folder


def _read_trial(folder: Path) -> object:
    found = _store(folder).record(Square(3))
    if found is None:
        raise DataProblem(f"{folder}: the trial counts as missing")
    return f"{found['seconds']:.1f}{found['result']}{', '.join(found['versions'].values())}".encode()


def _write_trained(folder: Path) -> Path:
    from dropgnn.report.brec import save

    row = {
        "kind": "basic",
        "nodes": 10,
        "k": 2,
        "t2": 80.5,
        "control": 0.5,
        "separated": True,
        "reliable": True,
        "loss": 0.1,
    }
    pairs = [{"pair": number, **row} for number in range(3)]
    save(folder / "trained.json", {"method": "exhaustive-2", "layers": 6, "epochs": 5, "seed": 0, "pairs": pairs})
    return folder / "trained.json"


def _read_trained(path: Path) -> object:
    from dropgnn.data.brec import kind_of
    from dropgnn.experiments.brec_gap import dropped_by
    from dropgnn.report.brec import load_trained, trained_table

    found = load_trained(path)
    trained_table(found["pairs"], found["method"])
    return [f"{kind_of(row['pair'])} {dropped_by(found['method'], row)} {row['t2']:.1e}" for row in found["pairs"]]


def _write_tensors(folder: Path) -> Path:
    save_tensors(folder / "kept.safetensors", {"a": torch.arange(6), "b": torch.ones(2, 3)}, {"facts": [1, "two"]})
    return folder / "kept.safetensors"


@cache
def _model() -> Any:
    from dropgnn.molecules.models import Settings, build
    from dropgnn.molecules.trained import TrainedModel

    settings, ones = Settings(), (1.0,)
    return TrainedModel(settings, build(settings, 3), 3, ones, ones, ones, ones, 1, ones, ones)


def _write_model(folder: Path) -> Path:
    _model().save(folder / "model.safetensors")
    return folder / "model.safetensors"


def _read_model(path: Path) -> object:
    from dropgnn.molecules.trained import TrainedModel

    return TrainedModel.load(path).guides()


def _write_checkpoint(folder: Path) -> Path:
    _fit(folder / "checkpoint.safetensors").save()
    return folder / "checkpoint.safetensors"


def _fit(checkpoint: Path) -> Any:
    from dropgnn.molecules.fitting import Fit
    from dropgnn.molecules.models import Settings

    return Fit(Settings(epochs=2), _molecules(), checkpoint=checkpoint)


def _read_checkpoint(path: Path) -> object:
    fit = _fit(path)
    return fit.done, fit.seconds, f"{fit.position.loss + sum(sum(pair) for pair in fit.position.curve):.3f}"


def _write_facts(write: Any) -> Any:
    """What a file says about its tensors, to be damaged apart from them: signed again, it passes for whole."""

    def facts_of(folder: Path) -> Path:
        tensors, facts = load_tensors(write(folder))
        save_tensors(folder.with_name(f"{folder.name}.tensors"), tensors, {})
        for path in folder.iterdir():
            path.unlink()
        (folder / "facts.json").write_text(json.dumps(facts))
        return folder / "facts.json"

    return facts_of


def _read_facts(read: Any) -> Any:
    def signed(path: Path) -> object:
        facts = read_json(path)
        tensors, _ = load_tensors(path.parent.with_name(f"{path.parent.name}.tensors"))
        save_tensors(path.with_name("signed.safetensors"), tensors, facts)
        return read(path.with_name("signed.safetensors"))

    return signed


def _write_table(folder: Path) -> Path:
    (folder / "table.csv").write_text('name,smiles,remark of ours\nwater,O,"a, b"\nethanol,CCO,\n')
    return folder / "table.csv"


def _read_table(path: Path) -> object:
    from dropgnn.molecules.table import read_table

    return [asdict(row) for row in read_table(path, "smiles", _model()).rows]


READERS = [
    *(
        Reader(f"graphs {ending}", ("files", "data.files"), _write_text(f"graph{ending}", text), _read_graphs)
        for ending, text in GRAPHS.items()
    ),
    Reader("text of the GIN paper", ("data.gin_text", "data.cache"), _write_text("SMALL.txt", GIN), _parse_again),
    Reader("raw files", ("data.tu_folder",), _write_tu, _read_tu, share=0.5),
    Reader("folds", ("data.folds",), _write_folds, _read_folds, share=0.5),
    Reader("parsed files", ("data.cache", "tensor_files"), _write_parsed, _read_parsed, share=0.5),
    Reader("downloaded archive", ("data.download",), _write_archive, _read_archive, share=0.3),
    Reader("BREC raw", ("data.brec", "data.npy"), _write_brec, _read_brec, share=0.15),
    Reader("BREC published", ("data.brec", "data.npy"), _write_published, _read_brec, share=0.15),
    Reader("QM9 arrays", ("data.qm9.dataset", "data.npy"), _write_qm9, _read_qm9, share=0.5),
    Reader("qm9pack", ("data.qm9.source",), _write_pack, _read_pack, share=0.3, needs=("rdkit",)),
    Reader("folder of PyG", ("data.qm9.pyg_folder",), _write_pyg, _read_pyg, share=0.3, needs=("rdkit",)),
    Reader("study table1", ("experiments.archive", "files"), _write_study("table1", "beyond-wl"), _read_study),
    Reader("study modes", ("experiments.archive",), _write_study("modes", "beyond-wl"), _read_study, share=0.3),
    Reader("study figure-runs", ("experiments.archive",), _write_study("figure-runs", "beyond-wl"), _read_study),
    Reader(
        "study table2", ("experiments.archive",), _write_study("table2", "graph-classification"), _read_study, share=0.3
    ),
    Reader("study table3", ("experiments.archive",), _write_study("table3", "property-regression"), _read_study),
    Reader("trial", ("experiments.store",), _write_trial, _read_trial),
    Reader("trained on BREC", ("report.brec",), _write_trained, _read_trained),
    Reader("tensors", ("tensor_files",), _write_tensors, load_tensors),
    Reader("model", ("molecules.trained",), _write_model, _read_model, share=0.1),
    Reader("facts of a model", ("molecules.trained",), _write_facts(_write_model), _read_facts(_read_model), share=0.1),
    Reader("checkpoint", ("molecules.fitting",), _write_checkpoint, _read_checkpoint, share=0.05),
    Reader(
        "facts of a checkpoint",
        ("molecules.fitting",),
        _write_facts(_write_checkpoint),
        _read_facts(_read_checkpoint),
        share=0.1,
    ),
    Reader("table of molecules", ("molecules.table",), _write_table, _read_table),
]
