"""Pauses a run that is watched when something is found in it, and has its states kept.

All of it belongs to the GUI thread. The run itself takes the snapshot and pauses, as
far as it takes such commands; what it doesn't take is said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.isolation.findings import SEVERITIES
from isoscope.widgets.document import Phase

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from isoscope.app.settings import PauseOn, Settings
    from isoscope.core.isolation.findings import Finding
    from isoscope.widgets.session import Document, Session

HEADLINE = 160  # characters of what was found that are said


class Pausing:
    """Watches what is found in runs that go on.

    Parameters
    ----------
    settings
        Say from which severity on a run is paused; see `choose`.

    Attributes
    ----------
    level
        From which severity on; ``"never"`` for not at all.
    """

    def __init__(self, session: Session, settings: Settings) -> None:
        self._session, self._settings = session, settings
        self.level: PauseOn = settings.values.pause_on
        self._seen: dict[Document, set[Hashable]] = {}
        self._observers: dict[Document, Callable[[], None]] = {}
        session.added.connect(self._added)
        session.removed.connect(self._removed)

    def choose(self, level: PauseOn, *, remember: bool = True) -> None:
        """Pause from this severity on; what was found before pauses nothing."""
        self.level = level
        if remember:
            self._settings.values.pause_on = level
            self._settings.save()

    def _added(self, document: Document) -> None:
        if document.phase is not Phase.LIVE:
            return
        self._seen[document] = set()
        self._observers[document] = lambda: self._look(document)
        document.analysed.connect(self._observers[document])

    def _removed(self, document: Document) -> None:
        self._seen.pop(document, None)
        observer = self._observers.pop(document, None)
        if observer is not None:
            document.analysed.disconnect(observer, missing_ok=True)

    def _look(self, document: Document) -> None:
        """Pause if there is something new; each finding pauses once."""
        if document.phase is not Phase.LIVE:
            return
        seen = self._seen[document]
        fresh = [f for f in document.findings if _key(f) not in seen]
        seen.update(_key(f) for f in fresh)
        if self.level == "never":
            return
        counted = SEVERITIES[: SEVERITIES.index(self.level) + 1]
        grave = [f for f in fresh if f.severity in counted]
        if grave:
            self._pause(document, grave[0])

    def _pause(self, document: Document, finding: Finding) -> None:
        live = document.live
        if live is None or document.ask is None or live.state != "running":
            return
        can = set(live.allowed)
        keeps = "snapshot" in can
        if "pause" in can:
            document.ask("pause", {"snapshot": True} if keeps else {})
            done = f"{document.name} is paused"
            kept = "its states were kept as snapshots" if keeps else ""
            kept = kept or "it takes no snapshots when asked"
        elif keeps:
            document.ask("snapshot", {})
            done = f"{document.name} goes on, since it can't be paused from here"
            kept = "its states are kept as snapshots"
        else:
            done = f"{document.name} goes on"
            kept = "it takes neither a pause nor a snapshot from here"
        what = finding.headline or finding.message
        if len(what) > HEADLINE:
            what = what[: HEADLINE - 1] + "…"
        self._session.say("warning", f"{done}: {what}; {kept}")


def _key(finding: Finding) -> Hashable:
    """What tells a finding from another one, however far the run has got."""
    first = finding.native[0] if finding.native else None
    place = (finding.env, finding.episode, finding.control_step)
    return finding.id, place, first, finding.transition, finding.field
