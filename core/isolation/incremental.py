"""Checks that keep up with a recording that grows, and the audit of a live run.

Such a check offers ``begin()``, which makes something that takes one window of the
recording after the other and keeps what it needs of the earlier ones in a few numbers
an environment or scene. The same code serves a whole recording: that is one window. A
check without ``begin`` has to see all of it and runs when the run has ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import msgspec

from isoscope.core.isolation.findings import NotRun
from isoscope.core.isolation.labelled_context import LabelledContext
from isoscope.core.isolation.registry import CannotRunError, all_checks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from isoscope.core.isolation.findings import Audit, Finding
    from isoscope.core.recording.labelled.labelled import LabelledRecording

MEMORY_BYTES = 64 << 20
WINDOW_ROWS = 65536  # native steps or other records that are looked at together
LISTED_AT_MOST = 1000
WHOLE_RUN = "it has to see all of a run"
ONLY_THE_END = "incomplete-recording"  # what has not come yet is not missing


class Running(Protocol):
    """A check under way."""

    def take(self, window: LabelledContext) -> Iterable[Finding]:
        """Look at what has come; yields what is wrong.

        Raises
        ------
        CannotRunError
            If the window lacks what the check needs; asked again with the next one.
        """
        ...

    def finish(self) -> Iterable[Finding]:
        """Yield what only the end tells; nothing comes after it."""
        ...

    @property
    def nbytes(self) -> int:
        """About how many bytes it keeps."""
        ...


@runtime_checkable
class Incremental(Protocol):
    """A check that keeps up; see `isoscope.core.isolation.registry.Check`."""

    ID: str

    def begin(self) -> Running:
        """Begin to look at a recording."""
        ...


def waiting(audit: Audit) -> list[str]:
    """The ids of the checks that wait for a run's end."""
    return [reason.id for reason in audit.not_run if reason.reason == WHOLE_RUN]


def before_the_end(audit: Audit) -> Audit:
    """The audit of a run that goes on, without what only its end can tell."""
    return msgspec.structs.replace(
        audit,
        findings=[f for f in audit.findings if f.id != ONLY_THE_END],
        not_run=[reason for reason in audit.not_run if reason.id != ONLY_THE_END],
        checks=[check for check in audit.checks if check.id != ONLY_THE_END],
    )


def whole(running: Running, window: LabelledContext) -> Iterator[Finding]:
    """Run such a check on all of a recording at once."""
    yield from running.take(window)
    yield from running.finish()


class LiveAudit:
    """Audits a labelled recording as it grows.

    Parameters
    ----------
    labelled
        The recording, which somebody else lets grow.
    memory_bytes
        What the checks may keep together. One that grows beyond it is left out from
        then on, the largest first, and told among `not_run`.

    Attributes
    ----------
    not_run
        Checks that look at nothing: those that can't keep up and wait for the end, and
        those that lack what they need so far.
    """

    def __init__(
        self, labelled: LabelledRecording, memory_bytes: int = MEMORY_BYTES
    ) -> None:
        self._labelled = labelled
        self._memory_bytes = memory_bytes
        self._at: dict[str, int] = {}
        self._sharers: dict[int, list[int]] = {}
        self._running: dict[str, Running] = {}
        self._lacks: dict[str, NotRun] = {}
        self._found: dict[str, int] = {}
        for key, check in all_checks().items():
            if isinstance(check, Incremental):
                self._running[key] = check.begin()
            else:
                self._lacks[key] = NotRun(
                    id=key,
                    reason=WHOLE_RUN,
                    needs="the run's end; audit the recording then",
                )

    @property
    def not_run(self) -> list[NotRun]:
        """Checks that look at nothing, and why."""
        return list(self._lacks.values())

    @property
    def looking(self) -> list[str]:
        """Checks that keep up."""
        return list(self._running)

    @property
    def nbytes(self) -> int:
        """About how many bytes the checks keep."""
        return sum(running.nbytes for running in self._running.values())

    def update(self) -> list[Finding]:
        """Look at what has come since; returns the new findings.

        The caller has let the recording take in what was written.
        """
        found: list[Finding] = []
        while True:
            whole = LabelledContext(
                self._labelled, start=self._at, sharers=self._sharers
            )
            if all(len(table) == 0 for table in whole.tables.values()):
                return found
            window = _bounded(whole)
            self._sharers = window.sharers
            for key, running in list(self._running.items()):
                found += self._ask(key, running.take(window))
            self._at = window.stop
            self._bound()

    def finish(self) -> list[Finding]:
        """Take in the rest and say what only the end tells."""
        found = self.update()
        for key, running in self._running.items():
            found += self._ask(key, running.finish())
        return found

    def _ask(self, key: str, findings: Iterable[Finding]) -> list[Finding]:
        room = LISTED_AT_MOST - self._found.get(key, 0)
        out: list[Finding] = []
        try:
            for finding in findings:
                if len(out) >= room:
                    break
                out.append(finding)
            self._lacks.pop(key, None)
        except CannotRunError as reason:
            self._lacks[key] = NotRun(id=key, reason=reason.reason, needs=reason.needs)
        self._found[key] = self._found.get(key, 0) + len(out)
        return out

    def _bound(self) -> None:
        """Leave out checks until the rest keeps to the memory."""
        while self._running and self.nbytes > self._memory_bytes:
            largest = max(self._running, key=lambda k: self._running[k].nbytes)
            del self._running[largest]
            self._lacks[largest] = NotRun(
                id=largest,
                reason="it would need more memory than the live audit may take",
                needs="a higher limit, or an audit of the recording after the run",
            )


def _bounded(window: LabelledContext) -> LabelledContext:
    """The first part of a window, if it is long.

    All tables are cut at the same native step, so that what belongs together comes
    together.
    """
    steps = window.steps
    if len(steps) <= WINDOW_ROWS:
        return window
    row = steps.first + WINDOW_ROWS
    stop = {"native": row}
    for table in (window.events, window.changes, window.failures, window.resets):
        stop[table.NAME] = table.first + _count_to(table.row <= row)
    stop["transitions"] = window.transitions.first + _count_to(
        window.transitions.last_row < row
    )
    start: dict[str, Any] = {name: t.first for name, t in window.tables.items()}
    return LabelledContext(
        window.labelled, start=start, stop=stop, sharers=window.sharers
    )


def _count_to(inside: Any) -> int:
    """How many rows are before the first one outside."""
    outside = (~inside).nonzero()[0]
    return int(outside[0]) if len(outside) else len(inside)
