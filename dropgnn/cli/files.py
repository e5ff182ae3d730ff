"""Files that commands read and write: what is wrong with them is said before the work, not after it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryFile

from dropgnn.errors import InvalidArgument


def input_file(argument: str, path: Path, hint: str = "") -> Path:
    """The path of a file that is to be read."""
    if not path.is_file():
        raise InvalidArgument(argument, "must be a file that is there", got=path, hint=hint)
    return path


def input_folder(argument: str, path: Path | None, hint: str = "") -> None:
    """Check a folder that is to be read, if one is given."""
    if path is not None and not path.is_dir():
        raise InvalidArgument(argument, "must be a folder that is there", got=path, hint=hint)


def output_file(argument: str, path: Path, *endings: str) -> Path:
    """The path of a file that is to be written, or written anew."""
    kind = f" {' or '.join(endings)}" if endings else ""
    if (endings and path.suffix not in endings) or not path.parent.is_dir() or path.is_dir():
        raise InvalidArgument(argument, f"must be a file{kind} in an existing folder", got=path)
    _writable(argument, path.parent, path)
    return path


def output_folder(argument: str, path: Path) -> None:
    """Check a folder that is to be written into, and made where it is missing."""
    existing = next(parent for parent in (path, *path.absolute().parents) if parent.exists())
    if not existing.is_dir():
        raise InvalidArgument(argument, "must be a folder", got=path)
    _writable(argument, existing, path)


def _writable(argument: str, folder: Path, path: Path) -> None:
    try:
        TemporaryFile(dir=folder).close()
    except OSError as problem:
        rule = f"must be in a folder that can be written ({problem.strerror})"
        raise InvalidArgument(argument, rule, got=path) from problem


def new_file(path: Path) -> Path:
    """The path of a file that is to be written, if nothing would be lost by it."""
    if path.exists():
        raise InvalidArgument("out", "must not exist yet", got=path, hint="choose another file, or remove it")
    return output_file("out", path)


def looks_like_a_model(path: Path) -> bool:
    """Whether a file begins as a safetensors file does: the length of a JSON header, and the header's brace."""
    try:
        with path.open("rb") as content:
            start, size = content.read(9), path.stat().st_size
    except OSError:
        return False
    return start[8:] == b"{" and int.from_bytes(start[:8], "little") <= size - 8
