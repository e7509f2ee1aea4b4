"""Diagnose: from a symptom to the checks that bear on it, and to what they found."""
