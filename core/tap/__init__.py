"""The tap: see and record a run from within the program that makes it.

In a training script, two lines::

    from isoscope.core import tap
    env = tap.attach(env)  # or record="run.isoscope.h5", with or without a window

or ``tap.factory(make_env)`` around each factory that a vector environment of processes
gets. Importing this brings numpy, pyzmq and msgspec along, and h5py only to record.
"""

from __future__ import annotations

from isoscope.core.tap.api import attach, current, detach, factory, new_keys, stream
from isoscope.core.tap.keys import Keys
from isoscope.core.tap.session import Command, TapSession

__all__ = [
    "Command",
    "Keys",
    "TapSession",
    "attach",
    "current",
    "detach",
    "factory",
    "new_keys",
    "stream",
]
