"""Wiring: the command line, the window and what connects the panels to the core."""
