"""The paper's theory as something one can run; nothing here imports a layer."""
