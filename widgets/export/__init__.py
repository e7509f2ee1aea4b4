"""The Export panel: what is written, in which format, and whether it may be.

`request` is what the user asks for, `preview` says what would come of it, `state` how
far a document's export is, `form` and `report_view` show it, and `panel` is the panel.
"""
