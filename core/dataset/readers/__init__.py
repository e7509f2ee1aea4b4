"""Readers of dataset formats: each gives `Episodes`, and a source for the window."""
