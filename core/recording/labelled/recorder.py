"""The recorder: takes records from a running program, and writes a labelled recording.

Every call packs a row into memory that is there already and returns; a thread of the
recorder's own writes. Nothing here waits for a disk, and a recording that must stop
(a full disk) stops by itself, says so once, and lets the run go on.
"""

from __future__ import annotations

import hashlib
import math
import os
import secrets
import socket
import time
import weakref
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from isoscope.core.errors import WriteError
from isoscope.core.newfile import refuse_bad_target
from isoscope.core.recording.labelled import tables as t
from isoscope.core.recording.labelled.container import Container
from isoscope.core.recording.labelled.forms import FORMAT_NAME, VERSION
from isoscope.core.recording.labelled.frames import OVER, Frame, Ragged
from isoscope.core.recording.labelled.records import DIGEST_BYTES, Dropped, Field
from isoscope.core.recording.labelled.writing import FLUSH_S, Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoscope.core.recording.labelled import records as r

BACKLOG_BYTES = 64 << 20
_astuple = msgspec.structs.astuple


class Recorder:
    """Records one run to one file. All methods may be called from any thread.

    Parameters
    ----------
    path
        The file, ``*.isoscope.h5``.
    identity
        What runs; `identify` may tell more later.
    overwrite
        Whether an existing file may be replaced.
    flush_s
        Seconds between flushes, at most 1.
    backlog_bytes
        What may wait in memory, besides one open block a table; beyond it records are
        refused and counted.
    tell
        Called once, with one line, if the recording stops early.

    Raises
    ------
    UsageError, WriteError
        If the file may not or can't be made.
    """

    def __init__(
        self,
        path: str | Path,
        identity: r.Identity,
        *,
        overwrite: bool = False,
        flush_s: float = FLUSH_S,
        backlog_bytes: int = BACKLOG_BYTES,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self.path = Path(path)
        refuse_bad_target(self.path, overwrite=overwrite)
        try:
            if overwrite:
                self.path.unlink(missing_ok=True)
            container = Container(self.path, _attributes(), live=True)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise WriteError(f"recording to {self.path}: {why}") from None
        self._writer = Writer(container, backlog_bytes, min(flush_s, 1.0), tell)
        self._intake = self._writer.intake
        self._pid = os.getpid()
        self._closed = False
        self._time_s = 0.0
        self._actors = 0
        self._snapshots = 0
        self._native = self._intake.buffers[self._intake.tables["native"]]
        self.identify(identity)
        try:
            self._writer.begin()
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise WriteError(f"recording to {self.path}: {why}") from None
        # Also at the program's exit, and where somebody just forgets it.
        self._finalizer = weakref.finalize(self, _close, self._writer, self._pid)

    # -- what there is --

    @property
    def rows(self) -> int:
        """Native steps recorded so far: the number that the next one gets."""
        return len(self._native)

    @property
    def stopped(self) -> str:
        """Why the recording stopped early, in one line; empty while it goes on."""
        return self._writer.stopped

    @property
    def backlog_bytes(self) -> int:
        """What waits in memory to be written."""
        return self._intake.backlog

    def identify(self, identity: r.Identity) -> None:
        """Say what runs; the last one holds."""
        told = msgspec.structs.asdict(identity)
        told["spaces"] = [msgspec.structs.asdict(s) for s in identity.spaces]
        self._intake.define({"define": "identity", **told})

    def scene(self, scene: r.SceneInfo) -> None:
        """Say what a scene is; may be told again as more of it is known."""
        told = msgspec.structs.asdict(scene)
        self._intake.define({"define": "scene", **told})

    def actor(self, actor: r.ActorInfo) -> int:
        """Add an actor, at any time; returns its number, for `Field.actor`."""
        told = msgspec.structs.asdict(actor)
        reference = {}
        for name, value in actor.reference.items():
            array = np.ascontiguousarray(value)
            if array.dtype.kind in "biuf":
                number = self._intake.blob(array.tobytes())
                reference[name] = [number, array.dtype.str, list(array.shape)]
        with self._intake.lock:
            number = self._actors
            self._actors += 1
            told |= {"define": "actor", "id": number, "reference": reference}
            self._intake.define(told)
        return number

    def destroyed(self, actor: int, row: int) -> None:
        """Say that an actor no longer exists from this native row on."""
        self._intake.define({"define": "destroyed", "actor": actor, "row": row})

    def frame(
        self,
        fields: Sequence[Field],
        dtype: Any,
        over: str = "native",
        scene: int = -1,
    ) -> Frame:
        """Add a frame: values of these fields, all of one dtype, that go with rows.

        Parameters
        ----------
        fields
            What is in it; at any time, so also when new fields turn up.
        dtype
            Of numbers or bool.
        over
            ``"native"`` or ``"transitions"``: whose rows.
        scene
            Whose state it is, or -1.
        """
        return Frame(self._intake, fields, dtype, _checked(over), scene)

    def ragged(
        self, field: Field, dtype: Any, over: str = "native", scene: int = -1
    ) -> Ragged:
        """Add a field whose length varies; `field.shape` is one entry's."""
        return Ragged.make(self._intake, field, dtype, _checked(over), scene)

    # -- records --

    def native(self, step: r.NativeStep, *frames: Frame) -> int:
        """Record a native step and the vectors of these frames; returns its row.

        -1 where it was refused: too much waits, or the recording stopped.
        """
        intake = self._intake
        with intake.lock:
            h_s = step.h_s
            if not intake.accepts:
                row = intake.refuse("native")
            else:
                if math.isfinite(h_s):
                    self._time_s += h_s
                s = _astuple(step)
                buffer = self._native
                packer = t.NATIVE.packer
                packer.pack_into(
                    buffer.raw, buffer.count * packer.size, *s, self._time_s
                )
                row = intake.filled(buffer)
            for frame in frames:
                frame.commit(row)
        return row

    def transition(self, transition: r.Transition, *frames: Frame) -> int:
        """Record a control step and the vectors of these frames; returns its number."""
        with self._intake.lock:
            row = self._add("transitions", transition)
            for frame in frames:
                frame.commit(row)
        return row

    def reset(self, reset: r.Reset) -> int:
        """Record a reset."""
        return self._add("resets", reset)

    def profile(self, entry: r.ProfileEntry) -> int:
        """Record a profiler's entry."""
        return self._add("profile", entry)

    def snapshot(self, snapshot: r.Snapshot) -> int:
        """Record a snapshot; returns its id, -1 where it was refused."""
        with self._intake.lock:
            if snapshot.id < 0:
                snapshot = msgspec.structs.replace(snapshot, id=self._snapshots)
            if self._add("snapshots", snapshot) < 0:
                return -1
            self._snapshots = max(self._snapshots, snapshot.id + 1)
        return snapshot.id

    def change(self, change: r.ConfigurationChange) -> int:
        """Record a change of the persistent configuration."""
        return self._add("changes", change)

    def failure(self, failure: r.Failure) -> int:
        """Record a failure."""
        return self._add("failures", failure)

    def event(self, event: r.SceneEvent) -> int:
        """Record what happened to a scene between native steps."""
        return self._add("events", event)

    def chunk(self, event: r.ChunkEvent) -> int:
        """Record a stage in the life of an action chunk."""
        return self._add("chunks", event)

    def dropped(self, dropped: Dropped) -> int:
        """Record that something was not recorded, by whoever gives the records."""
        return self._add("dropped", dropped)

    def stream(self, sample: r.StreamSample) -> int:
        """Record a sample of a sensor."""
        data, form, digest = sample.data, "", b""
        if data is not None:
            if not isinstance(data, bytes | bytearray | memoryview):
                array = np.ascontiguousarray(data)
                form = f"{array.dtype.str} {'x'.join(map(str, array.shape))}"
                data = array.tobytes()
            digest = hashlib.blake2b(data, digest_size=DIGEST_BYTES).digest()
        values = (
            *(sample.name, sample.capture_id, sample.capture_time_s),
            *(sample.read_time_s, sample.env, sample.row, sample.wall_ns),
            *(digest, form, data if sample.keep else None),
        )
        return self._intake.add_record("streams", list(values))

    def _add(self, table: str, record: msgspec.Struct) -> int:
        return self._intake.add_record(table, list(_astuple(record)))

    # -- the end --

    def flush(self, timeout_s: float | None = None) -> bool:
        """Wait until all that was recorded so far is in the file; whether it is."""
        if self._closed or self._pid != os.getpid():
            return False
        return self._writer.flush(timeout_s)

    def close(self) -> None:
        """Write the rest and mark the end. Also done at the program's exit."""
        if self._closed or self._pid != os.getpid():
            return
        self._closed = True
        self._finalizer()

    def __enter__(self) -> Recorder:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


def _checked(over: str) -> str:
    if over not in OVER:
        raise ValueError(f"a frame goes with {' or '.join(OVER)}, not {over!r}")
    return over


def _close(writer: Writer, pid: int) -> None:
    if pid == os.getpid():
        writer.close()
        writer.intake.stop()


def _attributes() -> dict[str, str]:
    host = ""
    with suppress(OSError):
        host = socket.gethostname()
    return {
        "format": FORMAT_NAME,
        "version": str(VERSION),
        "run": secrets.token_hex(16),
        "written": secrets.token_hex(16),
        "created_ns": str(time.time_ns()),
        "host": host,
        "process": str(os.getpid()),
    }
