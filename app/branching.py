"""Where what-if branches are kept: beside the edits of Curate, a file a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.app.folders import data_dir
from isoscope.core.replay.branch.branches import open_branches, source_of

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.isolation.context import Examined
    from isoscope.core.replay.branch.branches import Branches


def branches_file(examined: Examined) -> Path:
    """The file of a recording's branches, whether there is one or not.

    Raises
    ------
    UsageError
        For a recording that can have none: a bare one.
    """
    return data_dir() / "workspaces" / f"{source_of(examined)}.branches.json"


def branches_of(examined: Examined) -> tuple[Branches, str]:
    """The branches that were made of a recording; and what should be told.

    Raises
    ------
    UsageError
        For a recording that can have none: a bare one.
    """
    return open_branches(examined, branches_file(examined))
