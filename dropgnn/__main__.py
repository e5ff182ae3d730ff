"""``python -m dropgnn``."""

from dropgnn.cli.main import app

app()
