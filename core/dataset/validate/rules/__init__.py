"""The rules: one module each, listed in the registry."""
