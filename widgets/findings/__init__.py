"""The Findings panel: what is wrong, where, on what evidence, and what to do.

`texts` has the words, `rows` the table's rows, `table` the table and how it is painted,
`details` what stands below it, and `panel` the panel.
"""
