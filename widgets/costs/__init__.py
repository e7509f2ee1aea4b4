"""The Costs panel: where the time goes, by worker, stage, solve and copy.

`asking` works in a thread, `rows` and `words` say what came out, `bars` and `table`
show it, and `panel` is the panel.
"""
