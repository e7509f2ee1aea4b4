"""Packs the native steps of one scene, many at once, from what was read of each.

A scene's own thread only reads and keeps; digests and numbers are made here, mostly in
the thread that takes the rows on, where the same work on many rows is far cheaper.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoscope.core.recording.labelled import tables as t
from isoscope.core.recording.labelled.records import DIGEST_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.recording.labelled.intake_recorder import IntakeRecorder
    from isoscope.core.recording.tracks import Array
    from isoscope.core.tap.adapters.superdex.actors import Readers


class Settings(NamedTuple):
    """What holds for many steps: gravity in m/s² and the configuration's digest."""

    gravity: tuple[float, ...] = (np.nan,) * 3
    digest: bytes = b""


class Step(NamedTuple):
    """What is read of one native step, or of many: then a list a field.

    The states before and after are bytes. The scene's thread makes plain tuples, which
    takes a fraction of the time.

    Attributes
    ----------
    stats
        The engine's, a copy.
    values
        What `Readers.take` gave.
    """

    env: int
    episode: int
    control_step: int
    substep: int
    kind: int
    restored_from: int
    h_s: float
    scene_time_s: float
    wall_ns: int
    thread: int
    before: bytes
    after: bytes
    settings: Settings
    stats: Any
    values: Any


_PLAIN = Step._fields[:10]


class NativeRows:
    """Packs what some readers have read.

    Parameters
    ----------
    recorder
        Where the rows go.
    scene, process
        Their numbers.
    readers
        What made the values.
    statuses
        By the engine's status its number.
    """

    def __init__(
        self,
        recorder: IntakeRecorder,
        scene: int,
        process: int,
        readers: Readers,
        statuses: dict[Any, int],
    ) -> None:
        self._recorder = recorder
        self._scene = scene
        self._process = process
        self._readers = readers
        self._statuses = statuses
        self._last = b"", b""  # state and digest after the last step

    def pack(self, raws: list[tuple[Any, ...]]) -> None:
        """Append steps, each the fields of `Step`: for `Intake.later`."""
        columns: Any = Step._make(zip(*raws, strict=True))
        rows = np.zeros(len(raws), t.NATIVE.dtype)
        for name in _PLAIN:
            rows[name] = getattr(columns, name)
        rows["scene"], rows["process"] = self._scene, self._process
        settings = columns.settings
        rows["gravity"] = [one.gravity for one in settings]
        rows["configuration_digest"] = _digests([one.digest for one in settings])
        before, after = self._hashed(columns.before, columns.after)
        rows["digest_before"], rows["digest_after"] = before, after
        stats, statuses = columns.stats, self._statuses
        rows["solver_status"] = [statuses[s.convergence_status] for s in stats]
        rows["solver_iterations"] = [s.max_non_linear_iters for s in stats]
        rows["solver_residual"] = [s.residual_norm for s in stats]
        frames = self._readers.columns(columns.values)
        self._recorder.natives_packed(rows, frames)

    def _hashed(
        self, before: Sequence[bytes], after: Sequence[bytes]
    ) -> tuple[Array, Array]:
        """Digests of the states before and after, uint8 [n, DIGEST_BYTES] each."""
        ends = [state_digest(state) for state in after]
        begins = []
        last, digest = self._last
        for state, end_state, end in zip(before, after, ends, strict=True):
            # Unless something came in between, a restore, say: then it is another one.
            begins.append(digest if state is last else state_digest(state))
            last, digest = end_state, end
        self._last = last, digest
        return _digests(begins), _digests(ends)


def state_digest(state: bytes) -> bytes:
    """BLAKE2b of a captured state, `DIGEST_BYTES` long."""
    return blake2b(state, digest_size=DIGEST_BYTES).digest()


def _digests(values: list[bytes]) -> Array:
    flat = b"".join([value.ljust(DIGEST_BYTES, b"\0") for value in values])
    return np.frombuffer(flat, np.uint8).reshape(-1, DIGEST_BYTES)
