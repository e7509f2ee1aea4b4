"""Where edits of episodes are kept: beside the bookmarks, a journal for each source."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from isoscope.app.bookmarks import key_of
from isoscope.app.folders import data_dir
from isoscope.core.dataset.curate.workspace import Workspace
from isoscope.core.errors import ReadError

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.dataset.model import Episodes


def journal_of(path: Path, transitions: Path | None = None) -> Path:
    """Where the edits of a source's episodes are kept.

    Raises
    ------
    OSError
        If the source can't be read.
    """
    key = key_of(path)
    if transitions is not None:  # other transitions, other episodes
        both = f"{key}\n{key_of(transitions)}"
        key = hashlib.sha256(both.encode()).hexdigest()[:32]
    return data_dir() / "workspaces" / f"{key}.jsonl"


def open_workspace(
    episodes: Episodes, path: Path | None, transitions: Path | None = None
) -> tuple[Workspace, str]:
    """The edits that were made before, ready for more; and what should be told.

    A journal that can't be read is put aside, as it may be worth mending.
    """
    if path is None:
        return Workspace(episodes), ""
    try:
        journal = journal_of(path, transitions)
    except OSError as error:
        why = error.strerror or str(error)
        return Workspace(episodes), f"edits of {path.name} will not be kept: {why}"
    try:
        made = Workspace(episodes, journal)
    except ReadError as error:
        aside = journal.with_suffix(".unreadable")
        try:
            journal.replace(aside)
        except OSError:
            return Workspace(episodes), f"{error}; new edits will not be kept"
        return Workspace(episodes, journal), f"{error}; it was put aside as {aside}"
    told = ""
    if made.cut_short:
        told = f"the last edit of {path.name} was cut short, and is left out"
    return made, told
