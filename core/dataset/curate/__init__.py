"""Choosing episodes: reversible edits, kept beside a source that is never changed."""
