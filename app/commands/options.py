"""Arguments that several subcommands take, so that they read the same everywhere."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer


class PauseOnName(StrEnum):
    """From which finding on a run that is watched is paused."""

    error = "error"
    warning = "warning"
    never = "never"


File: TypeAlias = Annotated[
    Path, typer.Argument(metavar="FILE", help="A recording.", show_default=False)
]
LabelledFile: TypeAlias = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="A labelled recording.", show_default=False),
]
EngineName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="builtin|superdex",
        help="What steps it. By default what recorded it.",
        show_default=False,
    ),
]
Module: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--module",
        metavar="FILE:FACTORY",
        help="What makes one environment of SuperDex Lab, or a scene. By default what "
        "the recording says, if that file is unchanged.",
        show_default=False,
    ),
]
AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print one JSON object instead of a table.")
]
Overwrite: TypeAlias = Annotated[
    bool, typer.Option("--overwrite", help="Replace an existing file.")
]
Substeps: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--substeps",
        metavar="M",
        min=1,
        max=1 << 20,
        help="Native steps of a control step; found out by default, where it can be.",
        show_default=False,
    ),
]
LabelFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--labels",
        metavar="F",
        help="What you know of whose the steps were: JSON or .npz, a value of env, "
        "episode, control_step, substep a native step, null or -1 where unknown.",
        show_default=False,
    ),
]
Theme: TypeAlias = Annotated[
    str | None,
    typer.Option("--theme", metavar="NAME", help="dark, light or system."),
]
Layout: TypeAlias = Annotated[
    str | None,
    typer.Option("--layout", metavar="NAME", help="How the panels are arranged."),
]
Size: TypeAlias = Annotated[
    str | None,
    typer.Option("--size", metavar="WxH", help="The window's size, such as 1600x1000."),
]

PauseOn: TypeAlias = Annotated[
    PauseOnName | None,
    typer.Option(
        "--pause-on",
        help="Pause the watched run, and have its states kept, as soon as something of "
        "this severity or a worse one is found in it.",
        show_default="what was chosen in the window last",
    ),
]
