"""The Clocks panel: the clocks of a recording over its native steps, and at the cursor.

`plots` makes the plots, `facts` the words at the cursor, `table` paints them, and
`panel` is the panel.
"""
