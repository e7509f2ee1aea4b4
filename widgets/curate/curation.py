"""The episodes of one document, their edits and what is wrong with them. No Qt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoscope.core.dataset.curate.columns import of_what_is_kept
from isoscope.core.dataset.curate.curated import curated

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.dataset.curate.columns import Touches
    from isoscope.core.dataset.curate.curated import CuratedEpisodes
    from isoscope.core.dataset.curate.edits import Choice
    from isoscope.core.dataset.curate.workspace import Workspace
    from isoscope.core.dataset.model import Episodes
    from isoscope.core.isolation.findings import Audit
    from isoscope.widgets.curate.places import Places


@dataclass(slots=True, eq=False)
class Curation:
    """The episodes of a document, and what the user decided of them.

    Attributes
    ----------
    episodes
        The source; never changed.
    workspace
        The edits, each on the disk as soon as it is made.
    places
        Where the episodes' control steps are among the document's rows.
    transitions
        The file that the actions come from, where the recording has none.
    by_transition
        As of `Touches`.
    audit, touches
        What is wrong with the recording, and which episodes that touches; None while
        nobody has looked.
    """

    episodes: Episodes
    workspace: Workspace
    places: Places
    transitions: Path | None = None
    by_transition: bool = False
    audit: Audit | None = None
    touches: Touches | None = None

    @property
    def choice(self) -> Choice:
        """What is chosen now."""
        return self.workspace.choice

    def kept(self, choice: Choice | None = None) -> CuratedEpisodes:
        """The episodes of a choice that would be exported; of the one of now if None.

        With a choice it may be asked in another thread than the workspace's.
        """
        chosen = self.choice if choice is None else choice
        return curated(self.episodes, chosen, self.touches)

    def audit_of_kept(self) -> Audit | None:
        """The audit without what touches only episodes that are left out."""
        if self.audit is None or self.touches is None:
            return self.audit
        return of_what_is_kept(self.audit, self.touches, self.choice)
