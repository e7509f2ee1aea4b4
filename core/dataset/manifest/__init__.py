"""Manifests: what a dataset came from and what was done to it, in one JSON file."""
