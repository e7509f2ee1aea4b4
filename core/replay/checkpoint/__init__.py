"""Checkpoints of policies: all that acted, in one file, restored whole or not at all.

`model` says what the parts are, `bundle` writes and reads them, `restoring` gives them
back to what they are of, `acting` runs a saved policy, and `ranges` holds what it does
against a recording.
"""
