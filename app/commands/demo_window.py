"""``isoscope demo`` with the window: a worker process runs it, the window watches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING

from isoscope.app.extras import needs
from isoscope.core.errors import UsageError
from isoscope.core.newfile import refuse_bad_target

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.app.demo.settings import DemoSettings
    from isoscope.app.settings import PauseOn

VISIBLE = 8  # of a resident batch too large for all of it to be read back
DOING = "running a demo"
# So that eight of them, watched, keep to real time on one core; what the task was made
# for takes four times as long. Nothing touches in these scenes.
WATCHED_BY = {"CartPole": "semi_implicit"}


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """How a demo is watched; see the command's options of these names."""

    speed: float = 1.0
    chunk: int = 4
    seconds: float | None = None
    record: Path | None = None
    overwrite: bool = False
    pause_on: PauseOn | None = None


def watch_demo(
    settings: DemoSettings,
    options: LiveOptions,
    screenshot: Path | None = None,
    theme: str | None = None,
    layout: str | None = None,
    size: str | None = None,
) -> int:
    """Open the window and start a demo in it; returns the exit status.

    Raises
    ------
    IsoscopeError
        If the arguments make no sense, or the window can't be opened; with a picture
        also if the demo can't be watched.
    """
    from isoscope.app.demo.live_settings import LiveDemo

    _check(options)
    settings.check()
    faults = settings.make_faults()
    if settings.scene == "resident" and not settings.watched(faults):
        first = tuple(range(min(VISIBLE, settings.envs)))
        settings = replace(settings, watch=first)
    if options.record is not None:
        refuse_bad_target(options.record, overwrite=options.overwrite)
    if settings.integrator is None:
        settings = replace(settings, integrator=WATCHED_BY.get(settings.task))
    demo = LiveDemo(
        settings=settings,
        speed=options.speed or None,
        chunk=options.chunk,
        record="" if options.record is None else str(options.record.absolute()),
        overwrite=options.overwrite,
    )
    with needs("the window"):
        from isoscope.app.commands.open import open_window

        return open_window(
            [],
            None,
            layout,
            theme,
            screenshot,
            size,
            demo=demo,
            seconds=options.seconds,
            pause_on=options.pause_on,
        )


def _check(options: LiveOptions) -> None:
    problem = ""
    if not (isfinite(options.speed) and options.speed >= 0):
        problem = f"--speed {options.speed}; give 0 for as fast as it can, or more"
    elif options.chunk < 0:
        problem = f"--chunk {options.chunk}; give 0 or more"
    elif options.seconds is not None and not 0 <= options.seconds < float("inf"):
        problem = f"--seconds {options.seconds}; give 0 or more"
    if problem:
        raise UsageError(f"{DOING}: {problem}")
