"""Recordings: what they hold, how they are stored, and who reads them.

`model` has the columnar recording, `tracks` its storage. Open one with
:func:`isoscope.core.recording.registry.open_source`, or read it whole with
:func:`isoscope.core.recording.registry.load`.
"""
