"""What one sees of the package without reading its files."""

from __future__ import annotations

import dropgnn


def test_dir_lists_the_public_names() -> None:
    assert set(dropgnn.__all__) <= set(dir(dropgnn))
    assert "__version__" in dir(dropgnn)
