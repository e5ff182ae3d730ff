"""Files that commands write: whether they can is asked before the work, not behind it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryFile


def output_file(argument: str, path: Path, *endings: str) -> Path:
    """The path of a file that is to be written, or written anew."""
    from dropgnn.errors import InvalidArgument

    kind = f" {' or '.join(endings)}" if endings else ""
    if (endings and path.suffix not in endings) or not path.parent.is_dir() or path.is_dir():
        raise InvalidArgument(argument, f"must be a file{kind} in an existing folder", got=path)
    try:
        TemporaryFile(dir=path.parent).close()
    except OSError as problem:
        rule = f"must be in a folder that can be written ({problem.strerror})"
        raise InvalidArgument(argument, rule, got=path) from problem
    return path


def new_file(path: Path) -> Path:
    """The path of a file that is to be written, if nothing would be lost by it."""
    from dropgnn.errors import InvalidArgument

    if path.exists():
        raise InvalidArgument("out", "must not exist yet", got=path, hint="choose another file, or remove it")
    return output_file("out", path)
