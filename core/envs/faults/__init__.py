"""Faults to show and to test with: each put in at one place, off by default."""
