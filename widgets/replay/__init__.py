"""The Replay panel: step a recording again, and say exactly what that proves.

`request` is what is asked for, `form` asks it, `state` how far it is, `claims` the bar
of the three claims, `plot` the differences over the native steps, `fields` the largest
ones with their tolerances, `notes` everything else that a re-simulation says.
"""
