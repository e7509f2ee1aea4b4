"""Which capture each restore of a scene goes back to.

A recording tells it by the handle, where its tap does; otherwise by the digests of the
state: of the one that was captured, which the native step before it ended in, and of
the one that was restored, in which the next step begins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.recording.labelled import records as r
    from isoscope.core.recording.tracks import Array
    from isoscope.core.replay.tape import Tape

Place = tuple[int, int]  # of an event: its row, and its number among those there


class Returns:
    """By restore, the capture of the same state.

    Parameters
    ----------
    tape
        The scene.
    alone
        The environment whose events are done again; None for all.
    """

    def __init__(self, tape: Tape, alone: int | None) -> None:
        self._source: dict[Place, Place] = {}
        self._last: dict[Place, Place] = {}
        by_handle: dict[int, Place] = {}
        by_digest: dict[bytes, dict[int, Place]] = {}
        digests = _Digests(tape)
        for place, event, ends in _in_order(tape, alone):
            handle = (event.detail or {}).get("handle")
            if event.kind == "capture":
                if handle is not None:
                    by_handle[handle] = place
                elif digest := digests.before(event.row):
                    known = by_digest.setdefault(digest, {})
                    known.pop(event.env, None)  # the latest comes last
                    known[event.env] = place
            elif event.kind == "restore" and event.ok != 0:
                found = by_handle.get(handle) if handle is not None else None
                if handle is None and ends and (digest := digests.after(event.row)):
                    known = by_digest.get(digest, {})
                    latest = next(reversed(known.values()), None)
                    found = known.get(event.env, latest)
                if found is not None:
                    self._source[place] = found
                    self._last[found] = place

    def source(self, restore: Place) -> Place | None:
        """The capture that a restore goes back to; None where there is none."""
        return self._source.get(restore)

    def needed(self, capture: Place) -> bool:
        """Whether any restore goes back to a capture."""
        return capture in self._last

    def is_last(self, restore: Place) -> bool:
        """Whether no later restore goes back to the same capture."""
        found = self._source.get(restore)
        return found is not None and self._last[found] == restore


def _in_order(
    tape: Tape, alone: int | None
) -> Iterator[tuple[Place, r.SceneEvent, bool]]:
    """Events with their places, and whether a step follows before another restore."""
    for row in sorted(tape.events):
        events = list(enumerate(tape.events[row]))
        if alone is not None:
            events = [(k, event) for k, event in events if event.env == alone]
        restores = [k for k, event in events if event.kind == "restore"]
        for k, event in events:
            yield (row, k), event, not restores or k == restores[-1]


class _Digests:
    """Of the states in which a scene's native steps began and ended."""

    def __init__(self, tape: Tape) -> None:
        self._rows = tape.rows
        self._begin = self._end = np.empty((0, 0), np.uint8)
        self._tape = tape

    def before(self, row: int) -> bytes:
        """Of the state after the last step before a row; empty where not told."""
        at = int(np.searchsorted(self._rows, row)) - 1
        return self._at("digest_after", at)

    def after(self, row: int) -> bytes:
        """Of the state before the first step from a row on; empty where not told."""
        return self._at("digest_before", int(np.searchsorted(self._rows, row)))

    def _at(self, name: str, at: int) -> bytes:
        if not 0 <= at < len(self._rows):
            return b""
        digest: bytes = self._column(name)[at].tobytes()
        return digest if any(digest) else b""

    def _column(self, name: str) -> Array:
        if not len(self._begin):
            column = self._tape.labelled.column
            self._begin = column("native", "digest_before")[self._rows]
            self._end = column("native", "digest_after")[self._rows]
        return self._begin if name == "digest_before" else self._end
