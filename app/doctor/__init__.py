"""What ``isoscope doctor`` looks at, one subject a file.

Nothing here is imported into this process that is being examined: a broken driver or
library may take a process down or hang, so each is tried in one of its own, for a
bounded time.
"""
