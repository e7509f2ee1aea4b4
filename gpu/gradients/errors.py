"""Why a gradient is not given."""

from __future__ import annotations

from dataclasses import dataclass

from isoscope.gpu.errors import SimulationError

MOST_TOLD = 3


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason.

    Attributes
    ----------
    reason
        A key: ``contact-switch``, ``limit-switch``, ``clipped-action``,
        ``unconverged``, ``not-finite``, ``state-pairs``, ``precision``, ``input``.
    problem
        In words.
    step
        The native step, from 0; None where it isn't one step's.
    worlds
        The numbers of the worlds that it concerns; empty: all.
    """

    reason: str
    problem: str
    step: int | None = None
    worlds: tuple[int, ...] = ()

    def __str__(self) -> str:
        where = [] if self.step is None else [f"step {self.step}"]
        if self.worlds:
            shown = ", ".join(str(world) for world in self.worlds[:MOST_TOLD])
            more = ", …" if len(self.worlds) > MOST_TOLD else ""
            where.append(f"world {shown}{more}")
        return f"{', '.join(where)}: {self.problem}" if where else self.problem


class GradientError(SimulationError):
    """A gradient that does not exist, or that would be wrong.

    Attributes
    ----------
    refusals
        All reasons.
    """

    def __init__(self, refusals: list[Refusal]) -> None:
        self.refusals = tuple(refusals)
        told = "; ".join(str(refusal) for refusal in refusals[:MOST_TOLD])
        more = len(refusals) - MOST_TOLD
        ending = f"; and {more} more" if more > 0 else ""
        super().__init__(f"computing the gradient: {told}{ending}")
