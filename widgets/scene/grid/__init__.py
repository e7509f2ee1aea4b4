"""Grid mode: one small scene for each environment, each in its own last state.

`owners` knows the environments' own rows and actors, `ends` how control steps ended,
`cells` what is in each cell, `arrange` where the cells are, `states` resolves them
within a time, `picture` makes numbers of that, `labels` writes over it, and `mode`
brings it together. `draw.grid_stage` draws it.
"""
