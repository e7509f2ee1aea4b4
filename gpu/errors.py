"""What can go wrong in the simulator, told to people in one line.

A world whose solve does not converge, or that is not finite any more, is no error: it
is a status in the step's result (see :mod:`isoscope.gpu.linear.status`). Errors are for
what was asked wrongly.
"""

from __future__ import annotations

from isoscope.core.errors import IsoscopeError


class SimulationError(IsoscopeError):
    """Base of everything that the simulator tells the user instead of a traceback."""


class DeviceError(SimulationError):
    """A device or a precision that this computer or this torch does not have."""


class TransferError(SimulationError):
    """A copy that can't be made or counted: shapes that differ, steps in disorder."""


class LinearSystemError(SimulationError):
    """A linear system whose parts don't fit together, or options that make no sense."""
