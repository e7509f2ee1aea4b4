"""Environments over a Scene: the control step, scenes shared in turn, randomisation."""
