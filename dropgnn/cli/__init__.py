"""The command line, for which the extra ``cli`` is needed: ``pip install 'dropgnn[cli]'``."""

from importlib.util import find_spec

for _package in ("networkx", "rich", "typer"):
    if find_spec(_package) is None:  # networkx is not imported here: most wrong arguments are noticed without it
        raise SystemExit(f"the command line needs {_package}: pip install 'dropgnn[cli]'")
