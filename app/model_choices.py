"""Which model stood in for a recording's engine, kept beside the edits of Curate."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import msgspec

from isoscope.app.bookmarks import key_of
from isoscope.app.folders import data_dir, write_whole
from isoscope.widgets.replay.request import ModelChoice

if TYPE_CHECKING:
    from pathlib import Path

log = logging.getLogger(__name__)


def choice_file(recording: Path) -> Path:
    """Where a recording's choice is kept, whether there is one or not.

    Raises
    ------
    OSError
        If the recording can't be read.
    """
    return data_dir() / "workspaces" / f"{key_of(recording)}.model.json"


def load_choice(recording: Path | None) -> ModelChoice:
    """What stood in for a recording's engine last; nothing where none is known."""
    if recording is None:
        return ModelChoice()
    try:
        content = choice_file(recording).read_bytes()
        return msgspec.json.decode(content, type=ModelChoice)
    except FileNotFoundError:
        return ModelChoice()
    except (OSError, msgspec.MsgspecError) as error:
        log.warning("the model of %s is not known any more: %s", recording, error)
        return ModelChoice()


def save_choice(recording: Path | None, choice: ModelChoice) -> None:
    """Remember what stands in for a recording's engine; without it, it goes on."""
    if recording is None or load_choice(recording) == choice:
        return
    try:
        content = msgspec.json.format(msgspec.json.encode(choice), indent=1)
        write_whole(choice_file(recording), content)
    except OSError as error:
        log.warning("the model of %s was not remembered: %s", recording, error)
