"""What a demo's worker process is told to run, and what it says first, in JSON."""

from __future__ import annotations

import msgspec

from isoscope.app.demo.settings import DemoSettings

ENDLESS = 1 << 40  # rounds; until somebody stops it


class LiveDemo(msgspec.Struct, frozen=True, kw_only=True):
    """A demo that is watched.

    Attributes
    ----------
    settings
        What to run.
    speed
        Times as fast as the robot's time goes; None for as fast as can be.
    chunk
        Actions in a chunk; 0 for none.
    record
        A file that gets all of it, absolute; empty for none.
    overwrite
        Whether it may replace a file.
    waits_s
        How long it waits to be told to begin, so that whoever watches sees all of it; 0
        for not at all.
    """

    settings: DemoSettings = DemoSettings(
        envs=8, steps=ENDLESS, integrator="semi_implicit"
    )
    speed: float | None = 1.0
    chunk: int = 4
    record: str = ""
    overwrite: bool = False
    waits_s: float = 0.0

    @property
    def title(self) -> str:
        """What the run is called."""
        return f"demo {self.settings.task}"


class Hello(msgspec.Struct, frozen=True):
    """Where a worker's run can be joined."""

    address: str
    run: str


def to_line(told: LiveDemo | Hello) -> bytes:
    """One line of JSON."""
    return msgspec.json.encode(told) + b"\n"


def demo_of(line: bytes) -> LiveDemo:
    """Read what to run.

    Raises
    ------
    msgspec.ValidationError, msgspec.DecodeError
        If it is none.
    """
    return msgspec.json.decode(line, type=LiveDemo)
