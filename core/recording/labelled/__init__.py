"""The labelled recording, ``*.isoscope.h5``: what a native recording can't say.

`records` has what is recorded, `recorder` writes it while a run happens, `reader` opens
it as any recording, `labelled` gives typed access to the rest, `repair` salvages a file
whose writer died. The format is described in ``docs/labelled-recording.md``.
"""
