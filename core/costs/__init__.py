"""Where the time goes: from a labelled recording's profile entries, to stages and sums.

`columns` reads the tables as they grow, `samples` adds entries up by control step,
`tree` knows what contains what, `model` makes a `report.CostReport` of a window,
`compare` lays two of them side by side, and `written` writes one as CSV. No Qt.
"""
