"""DropGNN: the model, what it checks, and what comes out of it."""
