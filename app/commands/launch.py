"""``isoscope open``, and ``isoscope`` alone: the window, or a picture of it."""

from pathlib import Path
from typing import Annotated

import typer

from isoscope.app.commands.options import Layout, Size, Theme
from isoscope.app.extras import needs


def open_command(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE",
            help="Recordings, or links that begin with isoscope:; without any, the one "
            "that ships with the program.",
            show_default=False,
        ),
    ] = None,
    seek: Annotated[
        str | None,
        typer.Option(
            "--seek",
            metavar="POSITION",
            help="Where to go in the last one, such as native:120 or control:2/1/9.",
        ),
    ] = None,
    layout: Layout = None,
    theme: Theme = None,
    screenshot: Annotated[
        Path | None,
        typer.Option(
            "--screenshot",
            metavar="OUT.png",
            help="Save a picture as soon as everything is drawn, and leave.",
        ),
    ] = None,
    size: Size = None,
    replay: Annotated[
        str | None,
        typer.Option(
            "--replay",
            metavar="WAY",
            help="Step the last one again and show what comes of it: actions, alone, "
            "pinned or twice.",
        ),
    ] = None,
) -> int:
    """Open recordings in the window."""
    with needs("the window"):
        from isoscope.app.commands.open import open_window

        return open_window(
            files or [], seek, layout, theme, screenshot, size, replay=replay
        )
