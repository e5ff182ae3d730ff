"""Commands as a user types them, in this process: no second import of torch."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from unittest.mock import patch

from dropgnn.cli.main import app


def dropgnn(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """What a command prints and its exit status."""
    out, err, code = StringIO(), StringIO(), 0
    with (
        patch.object(sys, "argv", ["dropgnn", *arguments]),
        patch.dict(os.environ, {"COLUMNS": "80"} | environment),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            app()
        except SystemExit as left:
            code = int(left.code or 0)
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())
