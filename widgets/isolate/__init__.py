"""What the scene shows of one environment, and the ghosts that prove a finding.

`view` says whose state is drawn at a cursor, `overlays` what can be laid over it. Pure.
"""
