"""``isoscope attach``: the window on a run that goes on, or a list of what goes on."""

from typing import TYPE_CHECKING, Annotated

import typer

from isoscope.app import console
from isoscope.app.commands.options import AsJson, PauseOn
from isoscope.app.extras import needs

if TYPE_CHECKING:
    from isoscope.core.tap.runtime import Run


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
    as_json: AsJson = False,
) -> int:
    """Watch a run that goes on, or say which there are."""
    from isoscope.app.display import has_display

    with needs("watching runs"):
        from isoscope.core.live.discovery import find, running
    runs = running()
    if address is not None:
        runs = [find(address, token=token, server_key=key)]
    asked = address is not None or has_display()
    if as_json or list_only or len(runs) != 1 or not asked:
        return _list(runs, as_json)
    run = runs[0]
    with needs("the window"):
        from isoscope.app.commands.open import open_window
        from isoscope.app.settings import pause_choice

        level = None if pause_on is None else pause_choice(pause_on.value)
        return open_window([], attach=(run.address, token, key), pause_on=level)


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
