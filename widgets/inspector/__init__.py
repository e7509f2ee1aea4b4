"""The Inspector panel: every field at the cursor, and where in the file it stands.

`panel` has the panel, `texts` how values are written, `nodes` what is listed, `model`
and `view` the tree, `details` the strip below it.
"""
