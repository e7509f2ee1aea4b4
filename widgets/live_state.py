"""How a run stands that is watched: what the window says of it, and may ask. No Qt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from isoscope.core.live.memory import Memory


@dataclass(frozen=True, slots=True)
class FaultChoice:
    """A fault that may be put into a run: its name, and what it does."""

    name: str
    about: str = ""
    finds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LiveState:
    """How a run stands that is watched, as far as that is known here.

    Attributes
    ----------
    state
        In which state it is.
    last_words
        Of a run that died.
    dropped
        Records that nobody has: what, how many.
    allowed
        What may be asked of it: ``"pause"``, ``"resume"``, ``"step"``, ``"speed"``, ….
    speed
        How fast it goes by its own words; None where it doesn't say.
    paced_hz, achieved_hz
        Control steps a second of each environment that it is to take, and that it
        takes; None where it doesn't say.
    faults
        What may be put into it by the command ``"fault"``.
    whole
        Whether what was before the joining is here, too.
    stopped
        Why nothing more is kept here, though the run goes on; or empty.
    refused
        Messages that the run refused, since they made no sense or were too large.
    memory
        How much of what was read is kept in memory; None where nobody knows.
    """

    state: Literal["running", "paused", "lost", "ended", "died"] = "running"
    last_words: str = ""
    dropped: tuple[tuple[str, int], ...] = ()
    allowed: tuple[str, ...] = ()
    speed: float | None = None
    paced_hz: float | None = None
    achieved_hz: float | None = None
    faults: tuple[FaultChoice, ...] = ()
    whole: bool = True
    stopped: str = ""
    refused: int = 0
    memory: Memory | None = None

    @property
    def over(self) -> bool:
        """Whether nothing more will come."""
        return self.state in ("ended", "died")

    @property
    def lost(self) -> int:
        """How many records nobody has."""
        return sum(count for _, count in self.dropped)
