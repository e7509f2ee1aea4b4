"""Steps a document's environments again, each alone, for the checks that ask for it.

In a process of its own: neither torch nor a minute of stepping is in the window's way.
"""
