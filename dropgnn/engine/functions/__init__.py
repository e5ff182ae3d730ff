"""Which functions of torch act row by row, and how each does on distinct rows. Importing this registers them."""

from dropgnn.engine.functions import columns, entries, names, networks

__all__ = ["columns", "entries", "names", "networks"]
