"""Audits a run while it is watched: what has come is checked, a little at a time."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

import msgspec

from isoscope.core.errors import IsoscopeError
from isoscope.core.isolation.findings import Audit, CheckRan, worst_first
from isoscope.core.isolation.incremental import LiveAudit

if TYPE_CHECKING:
    from isoscope.core.isolation.findings import Finding
    from isoscope.core.recording.model import Recording

EVERY_S = 1.0
SHARE = 0.1  # of the thread's time that it may take

log = logging.getLogger(__name__)


class FollowedAudit:
    """The checks that keep up, on a recording that one thread lets grow.

    All of it belongs to that thread. What only the whole run tells is found when it has
    ended.

    Attributes
    ----------
    why_off
        Why nothing is checked any more; empty while it is.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._live: LiveAudit | None = None
        self._found: list[Finding] = []
        self._next_s = 0.0
        self._seen = (-1, -1)
        self.why_off = ""

    def look(self) -> Audit | None:
        """What is wrong so far, if that is new; None if not, or if it is not due."""
        labelled = self._recording.labelled
        now = time.monotonic()
        if now < self._next_s or labelled is None or self.why_off:
            return None
        counts = (len(self._recording), labelled.count("events"))
        if counts == self._seen:
            return None
        self._seen = counts
        if self._live is None:
            self._live = LiveAudit(labelled)
            first = True
        else:
            first = False
        try:
            fresh = self._live.update()
        except IsoscopeError as error:
            self.why_off = str(error)
            return None
        except Exception as error:  # the run is watched without it
            log.exception("auditing a run that is watched")
            self.why_off = f"{type(error).__name__}: {error}"
            return None
        spent_s = time.monotonic() - now
        self._next_s = now + max(EVERY_S, spent_s / SHARE)
        if not fresh and not first:
            return None
        file = self._recording.name
        self._found += [msgspec.structs.replace(f, file=file) for f in fresh]
        waiting = {reason.id for reason in self._live.not_run}
        counted: dict[str, int] = {}
        for finding in self._found:
            counted[finding.id] = counted.get(finding.id, 0) + 1
        return Audit(
            files=[file],
            findings=worst_first(list(self._found)),
            not_run=self._live.not_run,
            checks=[
                CheckRan(id=key, ran=True, found=counted.get(key, 0))
                for key in self._live.looking
                if key not in waiting
            ],
        )
