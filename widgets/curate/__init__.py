"""The Curate panel: episodes, and what of them is exported.

`curation` is what both this panel and Export work on, `places` says where an episode
lies in the recording, `background` and `series` work in a thread, `rows` says what a
cell shows, `table` shows it, and `panel` is the panel.
"""
