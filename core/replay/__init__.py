"""Two runs of the same environments side by side: where they part, and how far.

`fields` says what both recordings hold, `episodes` and `matching` lay their steps over
one another, by each environment's own steps and never by native row, `differences`
finds the first one and the largest, and `compare` says what can be claimed.
"""
