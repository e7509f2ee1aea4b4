"""Tasks, one a file, and the registry of them."""
