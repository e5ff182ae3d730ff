"""What tests of data share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where parsed files are kept, for this test alone."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "dropgnn" / "parsed"
