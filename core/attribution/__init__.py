"""Whose native step was it, and how the clocks lie over one another.

`attributor` gives every native step of a recording back to its environment
(:func:`isoscope.core.attribution.attributor.attribute`, or an incremental `Attributor`
for a growing one); `result` holds the answer in columns; `align` maps the clocks.
"""
