"""From action chunks to training batches: keys, parts, joining, trajectories, outputs.

The shapes, the alignment and the error types are those of RLinf's trajectory collector
(concept page and behaviour of September 2026), so that data moves between the two.
"""
