"""Derivatives of what simulated steps lead to."""
