"""How often an environment is controlled and simulated: f_c, f_s, M, h, H."""

from __future__ import annotations

from dataclasses import dataclass

from isoscope.core.errors import UsageError

# The step that ends a reset, so that what is derived from the state is up to date.
RESET_STEP_S = 1e-5
NO_LIMIT = -1


@dataclass(frozen=True, slots=True)
class Timing:
    """Two frequencies of which the first divides the second.

    Parameters
    ----------
    control_hz
        f_c, actions per second.
    simulation_hz
        f_s, native steps per second: an integer multiple of f_c.
    max_steps
        Control steps after which an episode is truncated; -1 for no limit. An equality
        test on the count, as SuperDex Lab has it.

    Raises
    ------
    UsageError
        If f_s is no multiple of f_c, or a number is out of range.
    """

    control_hz: int
    simulation_hz: int
    max_steps: int = NO_LIMIT

    def __post_init__(self) -> None:
        if self.control_hz < 1 or self.simulation_hz < 1:
            raise UsageError(
                f"setting up an environment: frequencies of {self.control_hz} and "
                f"{self.simulation_hz} Hz; both must be at least 1"
            )
        if self.simulation_hz % self.control_hz:
            raise UsageError(
                f"setting up an environment: {self.simulation_hz} Hz of simulation are "
                f"no multiple of {self.control_hz} Hz of control; choose one that is"
            )
        if self.max_steps < 1 and self.max_steps != NO_LIMIT:
            raise UsageError(
                f"setting up an environment: a limit of {self.max_steps} control "
                "steps; give at least 1, or -1 for none"
            )

    @property
    def substeps(self) -> int:
        """M: native steps in a control step."""
        return self.simulation_hz // self.control_hz

    @property
    def h_s(self) -> float:
        """h: seconds in a native step."""
        return 1.0 / self.simulation_hz

    @property
    def control_s(self) -> float:
        """H: seconds in a control step."""
        return 1.0 / self.control_hz
