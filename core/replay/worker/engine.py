"""An engine in another process, as re-simulation has it.

What needs no answer waits, and goes with the next that does; states are read later, a
block of native steps at a time. So a native step costs a part of a message.
"""

from __future__ import annotations

import math
from itertools import count
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from isoscope.core.replay.engine import ReplayError
from isoscope.core.replay.worker import messages as m

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isoscope.core.recording.tracks import Array
    from isoscope.core.replay.worker.process import Worker

    Take = Callable[[list[Array], bool | None], None]

ANSWER_S = 300.0  # for a block of steps
READS = 64  # in a block
WAITING = 1024  # operations in a block

_encode = msgspec.msgpack.Encoder().encode
_done = msgspec.msgpack.Decoder(m.Done).decode


class WorkerEngine:
    """A scene in a worker; see `isoscope.core.replay.engine.Engine`.

    Parameters
    ----------
    worker
        Has made the scene. It is closed with the engine.
    made
        What it answered.
    name
        What the engine is called.
    doubts
        Why it may not be what was recorded, as far as can't be told.
    """

    worlds = 1

    def __init__(
        self, worker: Worker, made: m.Made, name: str, doubts: Sequence[str] = ()
    ) -> None:
        self.name = name
        self.doubts = tuple(doubts)
        self._worker = worker
        self._dtype = np.dtype(made.dtype)
        self._places: dict[tuple[str, str], tuple[slice, tuple[int, ...]] | None] = {}
        self._width = 0
        for actor, field, shape in made.fields:
            stop = self._width + math.prod(shape)
            place = slice(self._width, stop), tuple(shape)
            # Two actors of one name can't be told apart by it.
            known = (actor, field) in self._places
            self._places[actor, field] = None if known else place
            self._width = stop
        self._numbers = count()
        self._waiting: list[m.Operation] = []
        # What is told later, in order: reads with their fields, comparisons without.
        self._takes: list[tuple[list[tuple[str, str]] | None, Take]] = []
        self._told: tuple[dict[str, Any], bytes] | None = None
        self._present: dict[tuple[str, str], Array] | None = None
        self._closed = False

    def has(self, actor: str, field: str) -> bool:
        """Whether `read` can give this field."""
        return self._places.get((actor, field)) is not None

    # -- persistent configuration ------------------------------------------------------

    def configuration(self) -> Mapping[str, Any]:
        """The persistent configuration as plain values."""
        return self._configured()[0]

    def configuration_digest(self) -> bytes:
        """As the tap records it."""
        return self._configured()[1]

    def configure(self, values: Mapping[str, Any]) -> None:
        """Set what differs; see `isoscope.core.replay.engine.Engine.configure`."""
        self._told = None
        self._ask(m.Configure(dict(values)))

    def _configured(self) -> tuple[dict[str, Any], bytes]:
        if self._told is None:
            values, digest = self._ask(m.AskConfiguration())
            self._told = values, digest
        return self._told

    # -- states ------------------------------------------------------------------------

    def check_bytes(self, data: bytes) -> None:
        """See `isoscope.core.replay.engine.Engine.check_bytes`."""
        self._ask(m.Check(data))

    def restore_bytes(self, data: bytes, worlds: Sequence[int] | None = None) -> None:
        """Go to a snapshot's state; a scene of one world goes there as a whole."""
        if worlds is None or len(worlds):
            self._later(m.RestoreBytes(data))

    def edit_state(
        self,
        actor: str,
        field: str,
        component: int | str | None,
        value: Sequence[float],
        world: int,
    ) -> None:
        """See `isoscope.core.replay.branch.editing.StateEditing`."""
        self._present = None
        self._ask(m.EditState(actor, field, component, [float(v) for v in value]))

    def state_bytes(self) -> bytes:
        """The present state as a snapshot's bytes."""
        found: bytes = self._ask(m.AskState())
        return found

    def capture(self) -> int:
        """Keep the present state; a handle."""
        handle = next(self._numbers)
        self._later(m.Capture(handle))
        return handle

    def restore(self, handle: int) -> None:
        """Go back to a kept state."""
        self._later(m.Restore(handle))

    def release(self, handle: int) -> None:
        """Forget a kept state."""
        self._later(m.Release(handle))

    # -- stepping ----------------------------------------------------------------------

    def apply(self, actor: str, field: str, values: Array, worlds: Array) -> None:
        """Set a native control input [1, size].

        Raises
        ------
        ReplayError
            For an input that the scene doesn't have.
        """
        if not len(worlds):
            return
        if not self.has(actor, field):
            raise ReplayError(
                f"applying {field} to {actor}: the scene has no such control input"
            )
        data = np.ascontiguousarray(values[0], self._dtype).tobytes()
        self._later(m.Apply(actor, field, data))

    def step(self, h_s: float, worlds: Array) -> None:
        """Advance by h, if the one world is among these."""
        if len(worlds):
            self._later(m.Step(h_s))

    def read(self, actor: str, field: str, worlds: Array) -> Array:
        """A recorded field of worlds int64 [n], [n, *shape]."""
        if self._present is None:
            names = [name for name, place in self._places.items() if place is not None]
            found: list[list[Array]] = []
            self._read(names, b"", lambda values, equal: found.append(values))
            self.finish()
            self._present = dict(zip(names, found[0], strict=True))
        return self._present[actor, field][None][: len(worlds)]

    def read_later(
        self, fields: Sequence[tuple[str, str]], expected: bytes, take: Take
    ) -> None:
        """See `isoscope.core.replay.engine.ReadsLater`."""
        self._read(list(fields), expected, take)

    def compare_later(self, data: bytes, take: Callable[[bool], None]) -> None:
        """See `isoscope.core.replay.engine.ReadsLater`."""
        self._waiting.append(m.Compare(data))
        self._takes.append((None, lambda values, equal: take(bool(equal))))

    def finish(self) -> None:
        """Do all that waits.

        Raises
        ------
        ReplayError
            If the engine refuses something or is gone; what was read before it was
            given.
        """
        self._send()

    def close(self) -> None:
        """End the process."""
        if not self._closed:
            self._closed = True
            self._worker.close()

    # -- helpers -----------------------------------------------------------------------

    def _read(self, fields: list[tuple[str, str]], expected: bytes, take: Take) -> None:
        self._waiting.append(m.Read(expected))
        self._takes.append((fields, take))
        if len(self._takes) >= READS:
            self._send()

    def _later(self, one: m.Operation) -> None:
        self._present = None
        self._waiting.append(one)
        if len(self._waiting) >= WAITING:
            self._send()

    def _ask(self, one: m.Operation) -> Any:
        self._waiting.append(one)
        return self._send()

    def _send(self) -> Any:
        """Have done what waits; the last one's result."""
        operations, self._waiting = self._waiting, []
        takes, self._takes = self._takes, []
        if not operations:
            return None
        if self._closed:
            raise ReplayError(f"{self.name} was closed")
        done = _done(self._worker.ask(_encode(operations), ANSWER_S))
        self._give(done, takes)
        if done.problem:
            raise ReplayError(f"{self.name}: {done.problem}")
        return done.result

    def _give(
        self, done: m.Done, takes: list[tuple[list[tuple[str, str]] | None, Take]]
    ) -> None:
        rows = iter(np.frombuffer(done.reads, self._dtype).reshape(-1, self._width))
        for (fields, take), state in zip(takes, done.states, strict=False):
            equal = None if state == m.UNKNOWN else state == m.EQUAL
            take([] if fields is None else self._split(next(rows), fields), equal)

    def _split(self, row: Array, fields: list[tuple[str, str]]) -> list[Array]:
        values = []
        for name in fields:
            place = self._places[name]
            assert place is not None
            where, shape = place
            values.append(row[where].reshape(shape))
        return values
