"""Damaged files: every reader answers with an error of ours that names the file, or reads what is left. Nothing is executed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import dropgnn
from dropgnn.errors import DataProblem
from tests.fuzz.engine import Reader, fuzz
from tests.fuzz.readers import NOT_READERS, READERS

FEW, MANY = 3_000, 100_000
SHARES = sum(reader.share for reader in READERS)
NAMES = [reader.name for reader in READERS]

OPENERS = {
    "open", "read_text", "read_bytes", "read_json", "fromfile", "memmap", "open_npy", "loadtxt", "genfromtxt", "safe_open",
    "load_file", "load_tensors", "read_graphml", "read_edgelist", "read_gml", "read_gpickle", "read_graph6", "ZipFile",
    "retrieve", "urlopen", "urlretrieve", "DictReader", "TUDataset", "download_url", "read_csv", "read_parquet",
    "read_excel", "iterparse", "mmap", "SDMolSupplier", "SmilesMolSupplier",
}  # fmt: skip
"""Calls that open a file, or read one."""

LOADERS = {
    "load": {"np", "numpy", "torch", "json", "pickle", "tomllib"},
    "reader": {"csv"},
    "parse": {"ET", "ElementTree"},
}
"""Calls that do so as a function of these modules."""


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("DROPGNN_DATA", raising=False)


def run(reader: Reader, tmp_path: Path, cases: int, seed: int) -> None:
    for package in reader.needs:
        pytest.importorskip(package, reason=f"{reader.name} needs {package}")
    outcome = fuzz(
        reader, tmp_path / reader.name.replace(" ", "-"), round(cases * reader.share / SHARES) + 1, seed=seed
    )
    print(f"{reader.name}: {outcome.read} read, {outcome.refused} refused, slowest {outcome.slowest:.2f} s")
    assert outcome.failures == []
    assert outcome.refused > 0


@pytest.mark.parametrize("reader", READERS, ids=NAMES)
def test_damaged_files(reader: Reader, tmp_path: Path) -> None:
    run(reader, tmp_path, FEW, seed=0)


@pytest.mark.heavy
@pytest.mark.parametrize("reader", READERS, ids=NAMES)
def test_many_damaged_files(reader: Reader, tmp_path: Path) -> None:
    run(reader, tmp_path, MANY, seed=1)


def test_every_module_that_opens_files_is_listed() -> None:
    """A new reader has to be entered above, or to be excused with a reason."""
    opening = {path for path in modules() if opens_files(path.read_text(encoding="utf-8"))}
    root = Path(dropgnn.__file__).parent
    found = {path.relative_to(root).with_suffix("").as_posix().replace("/", ".") for path in opening}
    listed = {module for reader in READERS for module in reader.modules}
    assert found - listed - NOT_READERS.keys() == set(), "add a reader to tests/fuzz/readers.py"
    assert listed | NOT_READERS.keys() <= found, "these no longer open files"
    assert not listed & NOT_READERS.keys()
    assert all(NOT_READERS.values())


def modules() -> list[Path]:
    return list(Path(dropgnn.__file__).parent.rglob("*.py"))


def opens_files(source: str) -> bool:
    """Whether there is a call in it that opens a file."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            if node.attr in OPENERS - {"open"} or owner in LOADERS.get(node.attr, ()):
                return True
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Attribute) and called.attr == "open":
            return True
        if isinstance(called, ast.Name) and called.id in OPENERS:
            return True
    return False


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("open(path)", True),
        ("path.open('rb')", True),
        ("with path.open() as file:\n    pass", True),
        ("np.load(path)", True),
        ("torch.load(path)", True),
        ("model.load(path)", False),
        ("read = partial(json.load)", True),
        ("json.loads(text)", False),
        ("csv.reader(lines)", True),
        ("nx.read_graphml(path)", True),
        ("open_window = 3", False),
    ],
)
def test_what_opens_files_is_recognised(source: str, expected: bool) -> None:
    assert opens_files(source) == expected


def test_careless_readers_are_caught(tmp_path: Path) -> None:
    """The tool itself: readers that evaluate, forget an error, take memory, or do not say which file it is."""
    import pickle

    def write(folder: Path) -> Path:
        (folder / "number.txt").write_text("[1, 2, 3]")
        return folder / "number.txt"

    def evaluates(path: Path) -> object:
        content = path.read_bytes()
        return pickle.loads(content) if content.startswith(b"\x80") else None

    def forgets(path: Path) -> object:
        return path.read_text(encoding="utf-8")

    def takes(path: Path) -> object:
        return bytes(1 << 31) if b"1" not in path.read_bytes() else None

    def silent(path: Path) -> object:
        if path.read_bytes() != b"[1, 2, 3]":
            raise DataProblem("something is wrong")
        return None

    said = {}
    for read in (evaluates, forgets, takes, silent):
        outcome = fuzz(Reader(read.__name__, (), write, read), tmp_path / read.__name__, 2_000)
        said[read.__name__] = " ".join(outcome.failures)
    assert "code in the file was executed" in said["evaluates"]
    assert "UnicodeDecodeError" in said["forgets"]
    assert "MemoryError" in said["takes"]
    assert "names no file: something is wrong" in said["silent"]
