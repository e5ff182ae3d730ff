"""Which items are dropped (``Runs``), who chooses them (samplers), and what dropping means (modes)."""
