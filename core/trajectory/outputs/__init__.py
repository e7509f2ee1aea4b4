"""What becomes of joined chunks: trajectories, micro-batches or episodes.

`base` says what an output strategy has to do, `registry` which one serves which mode.
"""
