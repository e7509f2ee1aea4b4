"""Documents with episodes to choose from, as the window gives them to panels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.dataset.curate.workspace import Workspace
from isoscope.core.dataset.readers.source import DatasetSource
from isoscope.widgets.curate.curation import Curation
from isoscope.widgets.curate.places import DatasetPlaces
from isoscope.widgets.session import Document, Phase

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.dataset.model import Episodes


def document_of(episodes: Episodes, journal: Path | None = None) -> Document:
    """A document of a dataset, with its edits in a journal if one is given."""
    source = DatasetSource(episodes)
    source.index()
    document = Document(source)
    document.phase = Phase.READY
    workspace = Workspace(episodes, journal)
    document.curation = Curation(episodes, workspace, DatasetPlaces(episodes))
    return document
