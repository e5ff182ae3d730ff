"""Wrong arguments are refused before data is looked for and before anything heavy is imported, and named as they are typed."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import dropgnn

HEAVY = ("torch", "torch_geometric", "numba", "rdkit", "networkx", "matplotlib", "scipy")

WRONG = {
    "reproduce table1 --task limits3": "'--task' must be one of limits1, limits2,",
    "reproduce table1 --task limits1,limits3": "'--task' must be one of limits1, limits2,",
    "reproduce table1 --method gun": "'--method' must be one of gin, ports,",
    "reproduce table1 --preset best": "'--preset' must be one of paper, published, no-auxiliary (got 'best')",
    "reproduce table1 --seeds 0": "Invalid value for '--seeds'",
    "reproduce table1 --work FILE": "'--work' must be a folder",
    "reproduce table1 --results FILE/x": "'--results' must be a folder",
    "reproduce table1 --cluster foo": "'--cluster' must be 'local', 'auto', or an address such as HOST:6379",
    "reproduce table3 --cluster 127.0.0.1:1": "'--cluster' must be the address of a Ray cluster that answers (got '127.0.0.1:1'",
    "reproduce figure-p --task lcc": "'--task' must be of figure-p: limits1, four_cycles, triangles (got lcc)",
    "reproduce figure-p --method gin": "'--method' must be of figure-p: dropout (got gin)",
    "reproduce table2 --dataset MUTAG,COLLAB": "'--dataset' must be one of MUTAG, PTC, PTC_MR, PROTEINS, IMDB-B, IMDB-M",
    "reproduce table2 --datasets COLLAB": "'--dataset' must be one of MUTAG,",
    "reproduce table2 --drops 'none, all'": "'--drops' must be one of none, random, exact (got 'all')",
    "reproduce table2 --drops ''": "'--drops' must be one of none, random, exact (got '')",
    "reproduce table2 --rivals --drops exact": "'--rivals' has no effect: none of them has these dropouts (got exact)",
    "reproduce table2 --protocol best": "'--protocol' must be one of gin, nested (got 'best')",
    "reproduce table2 --pool median": "'--pool' must be one of sum, mean, max (got 'median')",
    "reproduce table2 --data nowhere": "'--data' must be a folder that is there (got nowhere)",
    "reproduce table3 --model 2-gnn": "'--model' must be one of 1-gnn, 1-gnn-skip, mpnn (got '2-gnn')",
    "reproduce table3 --targets mu,colour": "'--target' must be one of mu, alpha,",
    "reproduce table3 --limit 5": "Invalid value for '--limit'",
    "reproduce table3 --limit 1000000": "Invalid value for '--limit'",
    "reproduce table9": "No such command 'table9'",
    "brec train foo": "'METHOD' must be one of gin, random-50, random-100, exhaustive-1, exhaustive-2 (got 'foo')",
    "brec train gin --seed -1": "Invalid value for '--seed'",
    "brec train gin --out FILE": "'--out' must be a file .json in an existing folder",
    "brec train gin --work FILE": "'--work' must be a folder",
    "brec certificate --output nowhere/x.json": "'--out' must be a file .json in an existing folder",
    "brec certificate --data nowhere": "'--data' must be a folder that is there",
    "brec explain nowhere.json": "'TRAINED' must be a file that is there",
    "data list --data nowhere": "'--data' must be a folder that is there",
    "data show NOPE": "'NAME' must be one of MUTAG, PTC, PTC_MR, PROTEINS, IMDB-B, IMDB-M, qm9, or a folder with a dataset "
    "(got 'NOPE'); any other dataset of the TU collection is downloaded with --download",
    "data show MUTAG": "or download it: dropgnn data show MUTAG --download",
    "data show MUTAG --features colours": "'--features' must be one of labels, attributes,",
    "data show MUTAG --filter some": "'--filter' must be one of none, at-most-70-nodes,",
    "data show qm9 --features degree": "'--features' has no effect on qm9",
    "data show qm9 --data .": "gdb9.sdf is missing; PyG's QM9 downloads it where RDKit is installed",
    "data show qm9 --edge-features": "'--edge-features' has no effect on qm9",
    "demo --output nowhere/demo.html": "'--out' must be a file in an existing folder",
    "demo --seeds 0": "Invalid value for '--seeds'",
    "report --results nowhere": "'--results' must be a folder that is there (got nowhere)",
    "report --results . --out nowhere/report.html": "'--out' must be a file in an existing folder",
    "report --results . --markdown nowhere/report.md": "'--markdown' must be a file in an existing folder",
    "train qm9 --target colour": "'--target' must be one of mu, alpha,",
    "train qm9 --model 2-gnn": "'--model' must be one of 1-gnn,",
    "train qm9 --drops some": "'--drops' must be one of none, random, exact",
    "train qm9 --chemistry best": "'--chemistry' must be one of sanitized, pyg",
    "train qm9 --limit 5": "Invalid value for '--limit'",
    "train qm9 --batch-size 0": "Invalid value for '--batch-size'",
    "train qm9 --seed -1": "Invalid value for '--seed'",
    "train qm9 --data nowhere": "'--data' must be a folder that is there",
    "train qm9 --data .": "gdb9.sdf is missing; PyG's QM9 downloads it where RDKit is installed",
    "train qm9 --out FILE": "'--out' must not exist yet",
    "train qm9 --out nowhere/x": "'--out' must be a file in an existing folder",
    "predict nowhere.safetensors FILE": "'MODEL' must be a file that is there (got nowhere.safetensors)",
    "predict MODEL nowhere.csv": "'MOLECULES' must be a file that is there (got nowhere.csv)",
    "predict FILE MODEL": "the two files are the wrong way round: dropgnn predict model.safetensors file.csv",
    "predict FILE FILE": "'MODEL' must be a file made by dropgnn train (got file.csv)",
    "predict MODEL FILE --column mol": "file.csv has no column 'mol' among 'name, smiles'; name the right one with --column",
    "predict MODEL FILE --out FILE": "'--out' must not exist yet (got file.csv)",
    "predict MODEL FILE --out nowhere/x.csv": "'--out' must be a file in an existing folder",
}
"""Commands with a mistake each, in a folder with two files, and what is said about it."""

FILES = {"FILE": "file.csv", "MODEL": "model.safetensors"}

TRY_ALL = """
import json, sys
from tests.cli.running import dropgnn
done = [dropgnn(*arguments) for arguments in json.loads(sys.argv[1])]
print(json.dumps({
    "answers": [(one.returncode, one.stdout + one.stderr) for one in done],
    "imported": [name for name in json.loads(sys.argv[2]) if name in sys.modules],
}))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table, and a file that begins as a model's does."""
    folder = tmp_path_factory.mktemp("arguments")
    (folder / "file.csv").write_text("name,smiles\nwater,O\n")
    header = b'{"__metadata__":{}}'
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    return folder


def bare(folder: Path) -> dict[str, str]:
    """An environment without data: neither DROPGNN_DATA, nor a home with a cache."""
    kept = {name: value for name, value in os.environ.items() if name not in ("DROPGNN_DATA", "COLUMNS")}
    root = str(Path(__file__).parents[2])
    return kept | {"HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache"), "PYTHONPATH": root, "COLUMNS": "250"}


def typed(line: str) -> list[str]:
    return [FILES.get(word.partition("/")[0], word) + "/x" * word.endswith("FILE/x") for word in shlex.split(line)]


def test_wrong_arguments_are_refused_before_data_and_heavy_imports(folder: Path) -> None:
    """All in one process, which shows in the end what was imported."""
    import json

    command = [sys.executable, "-c", TRY_ALL, json.dumps([typed(line) for line in WRONG]), json.dumps(HEAVY)]
    done = subprocess.run(command, cwd=folder, env=bare(folder), capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    for (line, message), (code, said) in zip(WRONG.items(), found["answers"], strict=True):
        assert code == 2, line
        assert message in " ".join(re.sub(r"[│╭╮╰╯─]", "", said).split()), f"{line}: {said}"
        assert "Traceback" not in said, line
        if message.startswith("Invalid value"):
            assert re.search(rf"(?<![\w-]){re.escape(typed(line)[-1])}\b", said.rpartition(message)[2]), (
                f"{line}: {said}"
            )
    assert found["imported"] == []
    assert sorted(path.name for path in folder.iterdir()) == ["file.csv", "model.safetensors"]


@pytest.mark.parametrize("line", ["brec train foo", "predict FILE MODEL", "reproduce table2 --rivals --drops exact"])
def test_a_wrong_argument_is_answered_within_two_seconds(line: str, folder: Path) -> None:
    before = sum(os.times()[2:4])
    command = [sys.executable, "-m", "dropgnn", *typed(line)]
    done = subprocess.run(command, cwd=folder, env=bare(folder), capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert WRONG[line] in done.stderr
    assert sum(os.times()[2:4]) - before < 2.0, "seconds of processor time"


def test_old_spellings_of_options_are_understood_and_not_listed(folder: Path) -> None:
    for command, option, old in (
        ("demo", "--out", "--output"),
        ("reproduce table2", "--dataset", "--datasets"),
        ("reproduce table3", "--target", "--targets"),
    ):
        shown = dropgnn(*command.split(), "--help", COLUMNS="120").stdout
        assert option in shown
        assert not re.search(rf"{old}\b", shown)
    assert "Invalid value for '--seeds'" in dropgnn("demo", "--output=x.html", "--seeds", "0").stderr


def test_the_version() -> None:
    from dropgnn import __version__

    shown = dropgnn("--version")
    assert (shown.returncode, shown.stdout) == (0, f"dropgnn {__version__}\n")
