"""QM9: 130,831 small organic molecules with twelve properties each."""
