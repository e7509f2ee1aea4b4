"""The simulator in torch."""
