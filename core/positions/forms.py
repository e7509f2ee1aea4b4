"""The kinds of position, and how each is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from datetime import datetime

TimeName = Literal["recording", "scene", "control"]
TIME_NAMES: tuple[TimeName, ...] = ("recording", "scene", "control")


@dataclass(frozen=True, slots=True)
class NativePosition:
    """A native step, from 0."""

    native: int


@dataclass(frozen=True, slots=True)
class ControlPosition:
    """A control step of an episode; `env` is None where none was named."""

    env: int | None
    episode: int
    control_step: int


@dataclass(frozen=True, slots=True)
class TimePosition:
    """A time in seconds on one of the clocks that count from a beginning."""

    clock: TimeName
    seconds: float


@dataclass(frozen=True, slots=True)
class WallPosition:
    """A moment on the computer's clock."""

    at: datetime


@dataclass(frozen=True, slots=True)
class ChunkPosition:
    """A chunk by its trajectory key, or one slot (action) of it."""

    step: int
    epoch: int
    rank: int
    stage: int
    chunk: int
    slot: int | None = None


@dataclass(frozen=True, slots=True)
class EventPosition:
    """An event by its number in the file."""

    number: int


@dataclass(frozen=True, slots=True)
class FindingPosition:
    """A finding by its place in the audit's list, from 1."""

    number: int


Position: TypeAlias = (
    NativePosition
    | ControlPosition
    | TimePosition
    | WallPosition
    | ChunkPosition
    | EventPosition
    | FindingPosition
)


def format_position(position: Position) -> str:
    """Write a position, so that `parse_position` gives back an equal one."""
    match position:
        case NativePosition(native):
            return f"native:{native}"
        case ControlPosition(env, episode, control_step):
            which = "" if env is None else f"{env}/"
            return f"control:{which}{episode}/{control_step}"
        case TimePosition(clock, seconds):
            return f"time:{clock}={seconds!r}"
        case WallPosition(at):
            return f"time:wall={at.isoformat()}"
        case ChunkPosition(step, epoch, rank, stage, chunk, slot):
            which = "" if slot is None else f"/{slot}"
            return f"chunk:{step}.{epoch}.{rank}.{stage}.{chunk}{which}"
        case EventPosition(number):
            return f"event:{number}"
        case FindingPosition(number):
            return f"finding:{number}"
