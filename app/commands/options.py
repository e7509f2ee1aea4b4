"""Arguments that several subcommands take, so that they read the same everywhere."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

File: TypeAlias = Annotated[
    Path, typer.Argument(metavar="FILE", help="A recording.", show_default=False)
]
AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print one JSON object instead of a table.")
]
Overwrite: TypeAlias = Annotated[
    bool, typer.Option("--overwrite", help="Replace an existing file.")
]
