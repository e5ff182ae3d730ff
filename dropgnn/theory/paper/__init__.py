"""The paper's statements as something one can run: one module per statement, in exact arithmetic."""
