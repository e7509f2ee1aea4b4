"""``isoscope attach``: the window on a run that goes on, or a list of what goes on."""

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isoscope.app import console
from isoscope.app.commands.options import AsJson, Layout, PauseOn, Size, Theme
from isoscope.app.extras import needs
from isoscope.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.tap.runtime import Run

APPEAR_S = 5.0  # for a run that is to be pictured


def attach(
    address: Annotated[
        str | None,
        typer.Argument(
            metavar="ADDRESS",
            help="tcp://HOST:PORT, or the beginning of a run's id or name; without one "
            "the only run of yours on this machine, or a list where there are several.",
            show_default=False,
        ),
    ] = None,
    token: Annotated[
        str,
        typer.Option(
            "--token", help="What another machine's run asks for.", show_default=False
        ),
    ] = "",
    key: Annotated[
        str,
        typer.Option(
            "--key",
            help="The public key of another machine's run.",
            show_default=False,
        ),
    ] = "",
    list_only: Annotated[
        bool, typer.Option("--list", help="Say which runs there are, open no window.")
    ] = False,
    pause_on: PauseOn = None,
    screenshot: Annotated[
        Path | None,
        typer.Option(
            "--screenshot",
            metavar="OUT.png",
            help="Save a picture of the window after a while, and leave.",
            show_default=False,
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds",
            metavar="S",
            help="How long to watch; then the window is closed.",
            show_default="until it is closed, 6 with --screenshot",
        ),
    ] = None,
    theme: Theme = None,
    layout: Layout = None,
    size: Size = None,
    as_json: AsJson = False,
) -> int:
    """Watch a run that goes on, or say which there are."""
    from isoscope.app.display import has_display

    if seconds is not None and not 0 <= seconds < float("inf"):
        raise UsageError(f"attaching: --seconds {seconds}; give 0 or more")
    with needs("watching runs"):
        from isoscope.core.live.discovery import find, running
    if screenshot is not None and not (as_json or list_only):
        # Whoever asks for a picture may have started the run just now.
        runs = [_waited_for(partial(find, address, token=token, server_key=key))]
    elif address is not None:
        runs = [find(address, token=token, server_key=key)]
    else:
        runs = running()
    asked = address is not None or screenshot is not None or has_display()
    if as_json or list_only or len(runs) != 1 or not asked:
        return _list(runs, as_json)
    run = runs[0]
    with needs("the window"):
        from isoscope.app.commands.open import open_window
        from isoscope.app.settings import pause_choice

        level = None if pause_on is None else pause_choice(pause_on.value)
        return open_window(
            [],
            None,
            layout,
            theme,
            screenshot,
            size,
            attach=(run.address, token, key),
            seconds=seconds,
            pause_on=level,
        )


def _waited_for(find: "Callable[[], Run]") -> "Run":
    """The run that is found within a while.

    Raises
    ------
    UsageError
        If there is none, or there are several.
    """
    until_s = time.monotonic() + APPEAR_S
    while True:
        try:
            return find()
        except UsageError:
            if time.monotonic() >= until_s:
                raise
        time.sleep(0.1)


def _list(runs: "list[Run]", as_json: bool) -> int:
    from isoscope.app.runs import about_run

    if as_json:
        listed = [
            {
                "address": run.address,
                "run": run.run,
                "name": run.name,
                "process": run.process,
                "began_ns": run.began_ns,
                "record": run.record or None,
            }
            for run in runs
        ]
        console.emit_json({"schema": "isoscope.attach/1", "runs": listed})
        return 0
    if not runs:
        console.emit(
            "No run of yours can be joined on this machine. In a training script:",
            "    from isoscope.core import tap",
            "    env = tap.attach(env)",
        )
        return 0
    table = console.table("name", "address", "about")
    for run in runs:
        table.add_row(
            console.text(run.name or run.run[:8]),
            console.text(run.address),
            console.text(about_run(run)),
        )
    console.emit(table)
    return 0
