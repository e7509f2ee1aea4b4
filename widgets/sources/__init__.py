"""The Sources panel: what is open, how far it is, what it holds, what is wrong with it.

`panel` has the panel, `texts` the words, `rows` what stands below a document, `tree`
the view and how it is painted.
"""
