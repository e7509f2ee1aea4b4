"""The tables of a labelled recording as typed columns, read once, when asked for.

A table here is a window: rows ``first`` to ``first + len`` of the recording's table,
all of them unless told otherwise. Absent is -1 for a number, NaN for a real, 0 for the
key of a digest.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from isoscope.core.recording.model import StepKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from isoscope.core.recording.labelled.labelled import LabelledRecording
    from isoscope.core.recording.tracks import Array, BoolArray, Int64Array

_NONE: Int64Array = np.zeros(0, np.int64)
# Odd numbers that mix the two halves of a digest into one key.
_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))


class Table:
    """Rows of one table.

    Parameters
    ----------
    labelled
        The recording.
    first, stop
        Which rows; all by default.
    given
        Columns that are in memory already, of these rows.
    """

    NAME: ClassVar[str]
    ABSENT: ClassVar[Mapping[str, tuple[str, Any]]] = {}

    def __init__(
        self,
        labelled: LabelledRecording,
        first: int = 0,
        stop: int | None = None,
        given: Mapping[str, Array] | None = None,
    ) -> None:
        self.labelled = labelled
        count = labelled.count(self.NAME)
        self.stop = count if stop is None else min(stop, count)
        self.first = min(first, self.stop)
        self._columns: dict[str, Array] = dict(given or {})

    def __len__(self) -> int:
        """Rows."""
        return self.stop - self.first

    def column(self, name: str) -> Array:
        """A column [n, *shape]: texts and JSON as their numbers; read only once."""
        found = self._columns.get(name)
        if found is None:
            if self.labelled.has(self.NAME, name):
                found = self.labelled.column(self.NAME, name, self.first, self.stop)
            else:  # written before there was such a column
                found = np.full(len(self), -1, np.int64)
            self._columns[name] = found
        return found

    def key(self, name: str) -> Array:
        """uint64 [n]: a digest column as one number a row; 0 where absent."""
        kept = f"{name}/key"
        found = self._columns.get(kept)
        if found is None:
            found = digest_keys(self.column(name))
            self._columns[kept] = found
            self._columns.pop(name, None)
        return found

    def text(self, name: str, index: int) -> str:
        """The text in a row; empty where absent."""
        return self.labelled.text(int(self.column(name)[index]))

    def json(self, name: str, index: int) -> Any:
        """The JSON value in a row; None where absent."""
        number = int(self.column(name)[index])
        return None if number < 0 else self.labelled.json(number)

    def is_text(self, name: str, words: Iterable[str]) -> BoolArray:
        """Bool [n]: rows whose text is one of these words."""
        numbers = self.column(name)
        wanted = set(words)
        codes = np.unique(numbers)
        hits = [n for n in codes.tolist() if self.labelled.text(n) in wanted]
        return np.asarray(np.isin(numbers, hits))

    @property
    def env(self) -> Array:
        """int32 [n]: whose; -1 unknown."""
        return self.column("env")

    @cached_property
    def _by_env(self) -> tuple[Int64Array, Array, Int64Array]:
        env = self.env
        small = env.astype(np.int16) if len(env) and env.max() < 2**15 else env
        order = np.argsort(small, kind="stable").astype(np.int64)
        sorted_env = env[order]
        cuts = np.flatnonzero(np.diff(sorted_env)) + 1
        starts = np.concatenate([[0], cuts, [len(order)]]).astype(np.int64)
        return order, sorted_env[starts[:-1]] if len(order) else env[:0], starts

    @property
    def order(self) -> Int64Array:
        """int64 [n]: indices by environment, ascending within each."""
        return self._by_env[0]

    @property
    def environments(self) -> list[int]:
        """The environments in it, ascending, without the unknown."""
        return [int(e) for e in self._by_env[1] if e >= 0]

    def of(self, env: int) -> Int64Array:
        """int64 [k]: indices of one environment's rows, ascending; a view."""
        order, envs, starts = self._by_env
        at = int(np.searchsorted(envs, env))
        if at >= len(envs) or envs[at] != env:
            return _NONE
        return order[starts[at] : starts[at + 1]]

    def previous(self) -> Int64Array:
        """int64 [n]: index of the row before of the same environment; -1 none."""
        order = self.order
        before = np.full(len(order), -1, np.int64)
        env = self.env[order]
        same = np.flatnonzero((env[1:] == env[:-1]) & (env[1:] >= 0)) + 1
        before[order[same]] = order[same - 1]
        return before


class Steps(Table):
    """Native steps."""

    NAME = "native"

    episode = property(lambda self: self.column("episode"), doc="int32 [n].")
    control_step = property(lambda self: self.column("control_step"), doc="int32 [n].")
    substep = property(lambda self: self.column("substep"), doc="int32 [n].")
    kind = property(lambda self: self.column("kind"), doc="int [n]: a `StepKind`.")
    scene = property(lambda self: self.column("scene"), doc="int32 [n].")
    h_s = property(lambda self: self.column("h_s"), doc="float64 [n], seconds.")
    wall_ns = property(lambda self: self.column("wall_ns"), doc="int64 [n].")
    process = property(lambda self: self.column("process"), doc="int32 [n].")
    thread = property(lambda self: self.column("thread"), doc="int64 [n].")
    before = property(lambda self: self.key("digest_before"), doc="uint64 [n].")
    after = property(lambda self: self.key("digest_after"), doc="uint64 [n].")
    configuration = property(
        lambda self: self.key("configuration_digest"), doc="uint64 [n]."
    )
    restored_from = property(
        lambda self: self.column("restored_from"), doc="int64 [n]: a snapshot's id."
    )
    solver_status = property(lambda self: self.column("solver_status"), doc="int [n].")

    @cached_property
    def reset(self) -> BoolArray:
        """Bool [n]: steps that a reset takes."""
        return np.asarray(self.kind == StepKind.RESET)

    @cached_property
    def scenes(self) -> list[int]:
        """The scenes that were stepped, ascending."""
        return [int(s) for s in np.unique(self.scene)]


class Transitions(Table):
    """Control steps; their vectors are tracks, see `LabelledContext.fields`."""

    NAME = "transitions"

    episode = property(lambda self: self.column("episode"), doc="int32 [n].")
    control_step = property(lambda self: self.column("control_step"), doc="int32 [n].")
    reward = property(lambda self: self.column("reward"), doc="float64 [n].")
    terminated = property(lambda self: self.column("terminated"), doc="1, 0 or -1.")
    truncated = property(lambda self: self.column("truncated"), doc="1, 0 or -1.")
    valid = property(lambda self: self.column("valid"), doc="1, 0 or -1, [n].")
    seed = property(lambda self: self.column("seed"), doc="int64 [n].")
    first_row = property(lambda self: self.column("first_row"), doc="int64 [n].")
    last_row = property(lambda self: self.column("last_row"), doc="int64 [n].")
    wall_ns = property(lambda self: self.column("wall_ns"), doc="int64 [n].")
    rng = property(lambda self: self.key("rng_digest"), doc="uint64 [n].")
    action_rng = property(lambda self: self.key("action_rng_digest"), doc="uint64 [n].")


class Resets(Table):
    """Resets."""

    NAME = "resets"

    episode = property(lambda self: self.column("episode"), doc="int32 [n].")
    row = property(lambda self: self.column("row"), doc="int64 [n].")
    transition = property(lambda self: self.column("transition"), doc="int64 [n].")
    automatic = property(lambda self: self.column("automatic"), doc="1, 0 or -1.")

    @cached_property
    def seeds(self) -> list[Any]:
        """The seed of each reset; None where none was given."""
        numbers = self.column("seed").tolist()
        return [None if n < 0 else self.labelled.json(n) for n in numbers]

    @cached_property
    def _rngs(self) -> list[Any]:
        numbers = self.column("rng").tolist()
        return [None if n < 0 else self.labelled.json(n) for n in numbers]

    def rng(self, index: int) -> Any:
        """The generators' states after a reset, by name; None where not told."""
        return self._rngs[index]


class Events(Table):
    """What happened to scenes between native steps; `row` is the next one then."""

    NAME = "events"

    row = property(lambda self: self.column("row"), doc="int64 [n].")
    scene = property(lambda self: self.column("scene"), doc="int32 [n].")
    snapshot = property(lambda self: self.column("snapshot"), doc="int64 [n].")
    ok = property(lambda self: self.column("ok"), doc="1, 0 or -1, [n].")
    process = property(lambda self: self.column("process"), doc="int32 [n].")
    thread = property(lambda self: self.column("thread"), doc="int64 [n].")

    def are(self, *kinds: str) -> BoolArray:
        """Bool [n]: events of these kinds."""
        return self.is_text("kind", kinds)

    def kind(self, index: int) -> str:
        """The kind of one event."""
        return self.text("kind", index)

    def detail(self, index: int) -> dict[str, Any]:
        """The details of one event; empty where there are none."""
        found = self.json("detail", index)
        return found if isinstance(found, dict) else {}


class Snapshots(Table):
    """Captured states, without their bytes."""

    NAME = "snapshots"

    id = property(lambda self: self.column("id"), doc="int64 [n].")
    row = property(lambda self: self.column("row"), doc="int64 [n]: after which.")
    scene = property(lambda self: self.column("scene"), doc="int32 [n].")
    digest = property(lambda self: self.key("digest"), doc="uint64 [n].")


class Changes(Table):
    """Values of the persistent configuration that became others."""

    NAME = "changes"

    row = property(lambda self: self.column("row"), doc="int64 [n]: the first under.")
    scene = property(lambda self: self.column("scene"), doc="int32 [n].")
    thread = property(lambda self: self.column("thread"), doc="int64 [n].")


class Failures(Table):
    """What failed."""

    NAME = "failures"

    row = property(lambda self: self.column("row"), doc="int64 [n].")
    scene = property(lambda self: self.column("scene"), doc="int32 [n].")

    def what(self, index: int) -> str:
        """What failed, in a word."""
        return self.text("what", index)

    def message(self, index: int) -> str:
        """How."""
        return str(self.json("message", index) or "")


def digest_keys(digests: Array) -> Array:
    """uint64 [n] of digests uint8 [n, 16]: equal for equal ones, 0 where absent.

    Digests are uniform, so that two different ones have one key once in 2^64 pairs.
    """
    if digests.ndim != 2 or not digests.size:
        return np.zeros(len(digests), np.uint64)
    halves = np.ascontiguousarray(digests).view(np.uint64)
    key: Array = halves[:, 0] * _MIX[0] + halves[:, 1] * _MIX[1]
    return key
