"""What the costs of a window are, as frozen values; times in seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoscope.core.costs.spread import NO_SPREAD, Spread

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.costs.naming import Stage
    from isoscope.core.costs.samples import Phase


@dataclass(frozen=True, slots=True)
class Window:
    """Which part of the run.

    Attributes
    ----------
    rows
        First and last native row; None for all.
    last_steps
        The last so many control steps of each environment; None for all.
    """

    rows: tuple[int, int] | None = None
    last_steps: int | None = None


EVERYTHING = Window()


@dataclass(frozen=True, slots=True)
class PartCosts:
    """One kind of entry.

    Attributes
    ----------
    path, unit
        As told.
    depth
        How many entries contain it.
    stage
        What it counts as.
    whole, own
        Steady control steps: with and without what is inside of it. Of entries in no
        control step (waits, resets) all after the initialisation.
    first, initialisation
        Of the environments' first control steps, and of what was before them.
    launch
        Whether its name says that it only launches work.
    """

    path: str
    unit: str
    depth: int
    stage: Stage
    whole: Spread
    own: Spread
    first: Spread
    initialisation: Spread
    launch: bool


@dataclass(frozen=True, slots=True)
class WorkerCosts:
    """One worker: who steps its environments in turn.

    Attributes
    ----------
    name
        ``"worker 1"``, or what else steps.
    envs
        Its environments; empty for a vector environment as a whole.
    stages
        Mean seconds of a steady turn by stage; they add up to `turn_s`, but for the
        wait, which is beside it.
    turn_s
        Mean seconds in which all its environments take one steady control step.
    wait_s
        Mean seconds that it waits between two of them; NaN where not told.
    step
        One control step of one environment, steady.
    """

    name: str
    envs: tuple[int, ...]
    stages: Mapping[Stage, float]
    turn_s: float
    wait_s: float
    step: Spread


@dataclass(frozen=True, slots=True)
class CopyCosts:
    """Copies of one cause in one direction, or (``"syncs"``) waits for the device."""

    way: str
    cause: str
    total: float
    each: Spread


@dataclass(frozen=True, slots=True)
class SolverCosts:
    """What the solver told of the native steps of the window.

    Attributes
    ----------
    statuses
        How many steps by status, by its name where the recording has one.
    told
        Steps that tell a status.
    iterations, residual
        Over the steps that tell them.
    """

    told: int
    statuses: Mapping[str, int]
    iterations: Spread
    residual: Spread


@dataclass(frozen=True, slots=True)
class WallCosts:
    """Times between ends, by the wall's clock.

    Attributes
    ----------
    native
        From one native step's end to the next one's in the same control step and
        process.
    control
        From one control step's end to the next one's of the same environment: with
        all that happens outside of it, such as the policy.
    """

    native: Spread = NO_SPREAD
    control: Spread = NO_SPREAD


@dataclass(frozen=True, slots=True)
class CostReport:
    """Where the time of a window goes.

    Attributes
    ----------
    entries
        Profile entries in the recording so far; 0 if it has none.
    samples
        How many samples of the window by phase.
    parts
        Kinds of entries, a parent before its parts.
    top_s, own_s
        Sums over the window's steady control steps: of the entries at the top, and of
        what is left of every entry without its parts. Equal where everything is told
        inside of something.
    workers, slowest
        Longest turn first; the place of the slowest where there are several.
    solves
        By part of a linear solve, each solve by itself.
    copies
        By bytes, largest first.
    others
        Entries of other units by name: their path, unit and spread.
    problems
        What doesn't fit, one line each.
    """

    window: Window
    entries: int
    samples: Mapping[Phase, int]
    parts: tuple[PartCosts, ...]
    top_s: float
    own_s: float
    workers: tuple[WorkerCosts, ...]
    solves: Mapping[str, Spread]
    copies: tuple[CopyCosts, ...]
    solver: SolverCosts
    wall: WallCosts
    others: tuple[tuple[str, str, Spread], ...]
    problems: tuple[str, ...]

    @property
    def slowest(self) -> WorkerCosts | None:
        """The slowest of several workers; None where there is one or none."""
        named = [worker for worker in self.workers if worker.envs]
        return named[0] if len(named) > 1 else None

    @property
    def adds_up(self) -> bool:
        """Whether the times without parts add up to those at the top."""
        return abs(self.top_s - self.own_s) <= 1e-9 + 1e-6 * abs(self.top_s)

    @property
    def empty(self) -> bool:
        """Whether there is nothing at all to say."""
        told = self.solver.told or self.solver.iterations.count
        return not (
            self.entries or told or self.wall.native.count or self.wall.control.count
        )
