"""Properties of molecules: models for QM9, their training on one process or many, model files and predictions."""
