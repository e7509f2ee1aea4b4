"""What can go wrong in the simulator, told to people in one line.

A world whose solve does not converge, or that is not finite any more, is no error: it
is a status in the step's result (see :mod:`isoscope.gpu.linear.status`). Errors are for
what was asked wrongly.
"""

from __future__ import annotations

from isoscope.core.errors import IsoscopeError, one_line


class SimulationError(IsoscopeError):
    """Base of everything that the simulator tells the user instead of a traceback."""


class DeviceError(SimulationError):
    """A device or a precision that this computer or this torch does not have."""


class TransferError(SimulationError):
    """A copy that can't be made or counted: shapes that differ, steps in disorder."""


class LinearSystemError(SimulationError):
    """A linear system whose parts don't fit together, or options that make no sense."""


class ModelError(SimulationError):
    """A model that can't be read or simulated.

    Parameters
    ----------
    doing
        What was being done: ``'building the model "hopper"'``.
    problem
        What is wrong.
    where
        The place: ``'link "foot" of actor "hopper"'``, ``"$.actors[0].links[2]"``.
    remedy
        What to do about it.
    """

    def __init__(
        self, doing: str, problem: str, *, where: str = "", remedy: str = ""
    ) -> None:
        self.doing = doing
        self.problem = one_line(problem)
        self.where = where
        self.remedy = remedy
        inside = f"{where}: " if where else ""
        ending = f"; {remedy}" if remedy else ""
        super().__init__(one_line(f"{doing}: {inside}{self.problem}{ending}"))


class ParameterError(SimulationError):
    """A parameter that doesn't exist, or a value that it can't have."""
