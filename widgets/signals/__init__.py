"""The Signals panel: fields as stacked plots over the native steps.

`panel` has the panel, `defaults` what to plot at first, `resolve` what a plot shows,
`span` the rows in view, `stack`, `plot` and `axes` the drawing with pyqtgraph, `canvas`
what is laid over it (cursor, legends, mouse), `picker` the choice of a field.
"""
