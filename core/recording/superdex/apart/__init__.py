"""Read what may crash or hang libhdf5 in a process of its own.

`process` is this side of it, `child` the other, `wire` what goes between them. In the
child, `overlay` presents a damaged file in a form that libhdf5 opens, and `salvage`
finds the events of one whose list of events is lost.
"""
