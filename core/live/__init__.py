"""The window's side of a live run: find it, join it, mirror it, read it as it grows."""
