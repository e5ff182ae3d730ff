"""The command line, for which the extra ``cli`` is needed: ``pip install 'dropgnn[cli]'``."""

try:
    import networkx
    import rich
    import typer
except ImportError as missing:
    raise SystemExit(f"the command line needs {missing.name}: pip install 'dropgnn[cli]'") from missing

__all__ = ["networkx", "rich", "typer"]
