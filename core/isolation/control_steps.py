"""Control steps of a window as the checks want them: vectors, what was stored, ends.

Also how such checks keep up with a run: each window is looked at together with the last
control step of every environment before it.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isoscope.core.isolation.labelled_context import LabelledContext
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.recording.labelled.stored import GROUP
from isoscope.core.recording.model import StepKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from isoscope.core.isolation.findings import Finding
    from isoscope.core.recording.tracks import Array, BoolArray, Int64Array

OVERLAP = 65536  # rows before a window that are looked at again, at most
NEEDS_STORED = (
    "what the consumer stored, by StoredRecorder (docs/checks.md), beside what the "
    "environments told"
)


class Column(NamedTuple):
    """A field over the transitions of a window: values [n, width], and where they are.

    `declared` has the dtype and flat limits; empty limits where there are none.
    """

    values: Array
    there: BoolArray
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


class ControlSteps:
    """The transitions of a window.

    Attributes
    ----------
    window
        What they are of.
    table
        Its transitions.
    """

    def __init__(self, window: LabelledContext) -> None:
        self.window = window
        self.table = window.transitions
        self._groups: dict[str, dict[str, Column]] = {}

    @classmethod
    def of(cls, window: LabelledContext) -> ControlSteps:
        """Those of a window, which all checks share: each field is read once."""
        kept = vars(window)
        found = kept.get("control_steps")
        if not isinstance(found, cls):
            found = kept["control_steps"] = cls(window)
        return found

    def __len__(self) -> int:
        """Transitions."""
        return len(self.table)

    def group(self, group: str) -> dict[str, Column]:
        """The fields of a group by name, each [n, width]; ragged ones are left out."""
        found = self._groups.get(group)
        if found is None:
            found = {}
            for name, track in self.window.fields(group).items():
                if track.ragged:
                    continue
                read = track.read(self.table.first, self.table.stop)
                if not read.valid.any():
                    continue
                field = getattr(track, "field", None)
                found[name] = Column(
                    read.values.reshape(len(self.table), -1),
                    np.asarray(read.valid),
                    () if field is None else tuple(field.low),
                    () if field is None else tuple(field.high),
                )
            self._groups[group] = found
        return found

    @property
    def stored(self) -> dict[str, Column]:
        """What the consumer stored, by name; empty where it told nothing."""
        return self.group(GROUP)

    def needs_stored(self, *names: str) -> dict[str, Column]:
        """What the consumer stored.

        Raises
        ------
        CannotRunError
            If it told none of these; any will do where none is named. A name that ends
            in ``/`` is a prefix.
        """
        if not len(self):
            return {}
        stored = self.stored
        if names:
            hits = any(
                s.startswith(n) if n.endswith("/") else s == n
                for n in names
                for s in stored
            )
        else:
            hits = bool(stored)
        if not hits:
            raise CannotRunError("nobody told what the consumer stored", NEEDS_STORED)
        return stored

    # -- ends --

    @cached_property
    def before(self) -> Int64Array:
        """int64 [n]: index of the same environment's row before; -1 none."""
        return self.table.previous()

    @cached_property
    def after(self) -> Int64Array:
        """int64 [n]: index of the same environment's next row; -1 none."""
        out = np.full(len(self.table), -1, np.int64)
        at = np.flatnonzero(self.before >= 0)
        out[self.before[at]] = at
        return out

    @cached_property
    def done(self) -> BoolArray:
        """Bool [n]: rows that end their episode, as the environment told."""
        table = self.table
        return np.asarray((table.terminated == 1) | (table.truncated == 1))

    @cached_property
    def acts(self) -> BoolArray:
        """Bool [n]: rows in which an action was taken, or may have been."""
        return np.asarray((self.table.valid != 0) & (self.table.control_step != 0))

    @cached_property
    def behind_an_end(self) -> BoolArray:
        """Bool [n]: rows of the same episode right after its end."""
        table, before = self.table, self.before
        return np.asarray(
            (before >= 0)
            & self.done[before]
            & (table.episode == table.episode[before])
            & (table.control_step != 0)
        )

    def native_kind(self) -> Array:
        """Int [n]: the kind of the first native step of each row; -1 unknown."""
        steps, first = self.window.steps, self.table.first_row
        at = first - steps.first
        inside = (first >= 0) & (at >= 0) & (at < len(steps))
        out = np.full(len(self.table), int(StepKind.UNKNOWN), np.int64)
        if inside.any():
            out[inside] = steps.kind[at[inside]]
        return out

    # -- episodes --

    def by_episode(self, rows: Array) -> Iterator[Int64Array]:
        """Indices of one environment's episode together, in order of their first."""
        table = self.table
        rows = np.asarray(rows, np.int64)
        keys = np.stack([table.env[rows], table.episode[rows]], axis=1)
        yield from _grouped(rows, keys.astype(np.int64))

    def by_env(self, rows: Array) -> Iterator[Int64Array]:
        """Indices of one environment together, in order of their first."""
        rows = np.asarray(rows, np.int64)
        yield from _grouped(rows, self.table.env[rows].astype(np.int64)[:, None])


def _grouped(rows: Int64Array, keys: Array) -> Iterator[Int64Array]:
    if not len(rows):
        return
    _, first, which = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    which = which.reshape(-1)
    for k in np.argsort(first, kind="stable").tolist():
        yield rows[which == k]


def look_at(
    window: LabelledContext, look: Callable[[ControlSteps], Iterable[Finding]]
) -> Iterator[Finding]:
    """Run such a check on all of a recording at once."""
    yield from look(ControlSteps.of(window))


class Following:
    """Such a check under way; see `isoscope.core.isolation.incremental.Running`.

    Parameters
    ----------
    look
        Yields findings that name their transition; those of rows that it has seen
        before are passed over.
    """

    nbytes = 256

    def __init__(self, look: Callable[[ControlSteps], Iterable[Finding]]) -> None:
        self._look = look
        self._last: dict[int, tuple[int, int]] = {}  # by env: its last row and native

    def take(self, window: LabelledContext) -> Iterator[Finding]:
        """Look at what has come, and at the last row of each environment before."""
        table = window.transitions
        if not len(table):
            return
        start = {"native": window.steps.first, "transitions": table.first}
        if self._last:
            start["transitions"] = max(
                min(row for row, _ in self._last.values()), table.first - OVERLAP, 0
            )
            known = [native for _, native in self._last.values() if native >= 0]
            low = min(known, default=window.steps.first)
            start["native"] = max(min(low, window.steps.first) - OVERLAP // 8, 0)
        wider = LabelledContext(window.labelled, start=start, stop=window.stop)
        found = list(self._look(ControlSteps(wider)))
        for env in table.environments:
            last = int(table.of(env)[-1])
            self._last[env] = table.first + last, int(table.last_row[last])
        for finding in found:
            if finding.transition is None or finding.transition >= table.first:
                yield finding

    def finish(self) -> Iterator[Finding]:
        """Nothing is left to say."""
        return iter(())
