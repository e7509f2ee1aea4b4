"""What if: go on from a recorded place with something changed, beside the original.

`model` says what a branch is, `branches` keeps those of one recording, `starting` goes
to the state at its beginning, `editing` changes it, `inputs` gives the control inputs,
`running` and `stepping` step it, and `exporting` writes what came out as a recording.
"""
