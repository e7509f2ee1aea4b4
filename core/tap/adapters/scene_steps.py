"""Native steps of the simulator's scenes, from their ends until rows are made of them.

After each native step only a sample is taken, within the device: nothing waits for it.
The step gets its row's number. What was kept is read when rows are wanted, mostly by
the thread that takes them: a few copies for all steps since.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoscope.core.recording.labelled.records import DIGEST_BYTES
from isoscope.core.recording.labelled.tables import NATIVE
from isoscope.core.recording.model import StepKind
from isoscope.core.tap.adapters.controls import Controls
from isoscope.core.tap.adapters.scene_fields import state_fields, tell_actors, width_of
from isoscope.core.tap.adapters.seen import CAUSE, Seen
from isoscope.core.tap.raw_natives import state_digest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.envs.lane_options import LanePlace
    from isoscope.core.recording.labelled.frames import Frame
    from isoscope.core.recording.tracks import Array
    from isoscope.core.scene import Scene
    from isoscope.core.tap.session import TapSession

ROW_BYTES = 1000  # of a step that waits, besides its sample
_NONE = b""


@dataclass(slots=True)
class Kept:
    """A state that the scene was in, until it is read.

    Attributes
    ----------
    sample
        See `isoscope.core.scene.Sampler`.
    digest
        Empty until then, and where it is of some worlds only.
    """

    sample: Any
    digest: bytes = _NONE


class Step(NamedTuple):
    """A native step that has ended.

    Attributes
    ----------
    before, after
        The states.
    place, report
        Where the lanes were, and how it went; None where nobody says so.
    numbers
        The recording's numbers of the environments; empty where they aren't known.
    gravity, digest
        Of the persistent configuration: gravity [3] or [W, 3], None if there is none.
    inputs
        See `Controls.now`.
    """

    before: Kept | None
    after: Kept
    h_s: float
    wall_ns: int
    thread: int
    place: LanePlace | None
    report: Any
    numbers: Sequence[int]
    gravity: Array | None
    digest: bytes
    restored_from: int
    inputs: list[Any]


# A step with the scene's, and the place of one of its worlds among those seen.
Raw = tuple["SceneSteps", Step, int]


class SceneSteps:
    """Keeps the native steps of one scene, and makes their rows.

    Parameters
    ----------
    scene
        Whose.
    number
        The scene's number in the recording.
    seen
        The worlds of which rows are made.

    Attributes
    ----------
    last_row
        The last one of all; -1 before.
    gravity, digest
        Of the persistent configuration, for the steps to come.
    sampling
        Whether a sample is taken right now: what is read then, the tap reads.
    """

    def __init__(
        self, session: TapSession, scene: Scene, number: int, seen: Sequence[int]
    ) -> None:
        self.last_row = -1
        self.sampling = False
        self.gravity: Array | None = None
        self.digest = _NONE
        self.controls = Controls(scene)
        self._spans: dict[int, tuple[int, int]] = {}
        self._recorder = session.recorder
        self._pack = _packer_of(session).pack
        self._scene = scene
        self._number = number
        self._seen = Seen(scene, seen)
        self._process = os.getpid()
        self._now: Kept | None = None
        actors = tell_actors(scene, session.recorder, number)
        read, fields = state_fields(scene, actors, seen)
        only = None if self._seen.all else list(seen)
        self._sampler = scene.sampler(read, only, CAUSE)
        self._fields, self._width = len(fields), width_of(fields)
        fields += self.controls.fields(actors)
        self._frame: Frame | None = None
        if fields:
            precision = scene.precision
            self._frame = session.recorder.frame(fields, precision, scene=number)

    # -- while it steps ----------------------------------------------------------------

    def begin(self) -> None:
        """Forget whose rows there were: a control step begins."""
        self._spans.clear()

    def span(self, env: int) -> tuple[int, int]:
        """The first and last row of an environment since `begin`; -1 where none."""
        return self._spans.get(env, (-1, -1))

    def stepped(
        self,
        h_s: float,
        place: LanePlace | None,
        numbers: Sequence[int],
        restored_from: int,
    ) -> None:
        """Keep a native step that has just ended."""
        before, after = self._now, self._take()
        if self._seen.all:  # else nobody knows the digest of a state
            self._now = after
        when = h_s, time.time_ns(), threading.get_ident()
        about = place, self._scene.last_report, numbers, self.gravity, self.digest
        told = *when, *about, restored_from, self.controls.now()
        step = Step(before, after, *told)
        size = ROW_BYTES + after.sample.size_bytes // max(len(self._seen.worlds), 1)
        took: Any = None
        if place is not None and place.worlds is not None:
            (took,) = self._seen.host([place.worlds])
        for k, world in enumerate(self._seen.worlds):
            if took is not None and not took[k]:
                continue
            row = self._recorder.native_later(self._pack, (self, step, k), size)
            if row < 0:
                continue
            self.last_row = row
            env = numbers[world] if numbers else -1
            first, _ = self._spans.get(env, (row, row))
            self._spans[env] = first, row

    def became_another(self) -> None:
        """Take note that the state was restored or set, between native steps."""
        if self._seen.all:
            self._now = self._take()

    def _take(self) -> Kept:
        self.sampling = True
        try:
            return Kept(self._sampler.take())
        finally:
            self.sampling = False

    # -- making rows -------------------------------------------------------------------

    def rows(
        self, steps: Sequence[Step], places: Sequence[int], worlds: Sequence[int]
    ) -> tuple[Array, list[tuple[Frame, Array, Array]]]:
        """Rows of ``native`` [n], and the frame's with them, as it takes them.

        Parameters
        ----------
        places, worlds
            Of each row [n] its step, and its world's place among those seen.
        """
        values, time_s = self._read(steps)
        told = self._natives(steps, time_s)[places, worlds]
        if self._frame is None:
            return told, []
        every, valid = self._framed(steps, values, self._frame)
        return told, [(self._frame, every[places, worlds], valid[places, worlds])]

    def _read(self, steps: Sequence[Step]) -> tuple[Array, Array]:
        """What the states after the steps tell [n, S, …]; all digests are known then.

        Some of the states may have been read for the digest of what was before.
        """
        states = [step.after for step in steps]
        known = {id(kept) for kept in states}
        for step in steps:
            kept = step.before
            if kept is not None and not kept.digest and id(kept) not in known:
                known.add(id(kept))
                states.append(kept)
        sampled = self._sampler.read([kept.sample for kept in states])
        for kept, state in zip(states, sampled.states or (), strict=False):
            kept.digest = state_digest(state)
        count = len(steps)
        return sampled.values[:count], sampled.time_s[:count]

    def _natives(self, steps: Sequence[Step], time_s: Array) -> Array:
        """Rows of ``native``, [n, S]."""
        seen, worlds = self._seen, self._seen.worlds
        told = np.zeros((len(steps), len(worlds)), NATIVE.dtype)
        places = [step.place for step in steps]
        for name in ("episode", "control_step"):
            told[name] = seen.told([getattr(place, name, None) for place in places], -1)
        reports = [step.report for step in steps]
        for name, absent in (("status", -1), ("iterations", -1), ("residual", np.nan)):
            values = [getattr(report, name, None) for report in reports]
            told[f"solver_{name}"] = seen.told(values, absent)
        told["scene"], told["process"] = self._number, self._process
        told["scene_time_s"] = time_s
        for name in ("h_s", "wall_ns", "thread", "restored_from"):
            told[name] = np.array([getattr(step, name) for step in steps])[:, None]
        substeps = [-1 if place is None else place.substep for place in places]
        told["substep"] = np.array(substeps)[:, None]
        kinds = [int(_kind(step.place, step.h_s)) for step in steps]
        told["kind"] = np.array(kinds)[:, None]
        told["env"] = [
            [step.numbers[w] for w in worlds] if step.numbers else [-1] * len(worlds)
            for step in steps
        ]
        told["gravity"] = [self._gravity(step.gravity) for step in steps]
        befores = [_NONE if s.before is None else s.before.digest for s in steps]
        told["digest_before"] = _packed(befores)
        told["digest_after"] = _packed([step.after.digest for step in steps])
        told["configuration_digest"] = _packed([step.digest for step in steps])
        return told

    def _gravity(self, gravity: Array | None) -> Array:
        shape = len(self._seen.worlds), 3
        if gravity is None:
            return np.full(shape, np.nan)
        wide = gravity if gravity.ndim == 1 else gravity[self._seen.worlds]
        return np.broadcast_to(wide, shape)

    def _framed(
        self, steps: Sequence[Step], values: Array, frame: Frame
    ) -> tuple[Array, Array]:
        """The frame's values [n, S, width], and which fields are there [n, S, …]."""
        shape, slices = values.shape[:2], frame.slices
        every = np.zeros((*shape, slices[-1].stop), frame.dtype)
        valid = np.ones((*shape, len(slices)), np.bool_)
        every[:, :, : self._width] = values
        for index in range(len(steps[0].inputs)):
            place = self._fields + index
            given = [step.inputs[index] for step in steps]
            into = every[:, :, slices[place]]
            valid[:, :, place] = self._seen.inputs(given, into)
        return every, valid


class _Packer:
    """Packs the native steps of all scenes of a session, in their order."""

    def __init__(self, session: TapSession) -> None:
        self._session = weakref.ref(session)

    def pack(self, raws: list[Raw]) -> None:
        """Append these: the `pack` of `IntakeRecorder.native_later`."""
        session = self._session()
        if session is None:
            return
        rows = np.zeros(len(raws), NATIVE.dtype)
        framed = []
        scenes: dict[SceneSteps, list[int]] = {}
        for at, (scene, *_) in enumerate(raws):
            scenes.setdefault(scene, []).append(at)
        for scene, where in scenes.items():
            steps = {id(raws[at][1]): raws[at][1] for at in where}
            order = {key: number for number, key in enumerate(steps)}
            places = [order[id(raws[at][1])] for at in where]
            worlds = [raws[at][2] for at in where]
            # The rows have their numbers: they come, whatever goes wrong.
            with session.guard:
                rows[where], frames = scene.rows([*steps.values()], places, worlds)
                framed.append((where, frames))
        first = session.recorder.natives_packed(rows)
        for where, frames in framed:
            for frame, values, valid in frames:
                frame.extend(first + np.array(where), values, valid)


def _packer_of(session: TapSession) -> _Packer:
    found = _packers.get(session)
    if found is None:
        found = _packers[session] = _Packer(session)
    return found


def _packed(digests: Sequence[bytes]) -> Array:
    """[n, 1, DIGEST_BYTES]; zeros where there is none."""
    flat = b"".join([digest.ljust(DIGEST_BYTES, b"\0") for digest in digests])
    return np.frombuffer(flat, np.uint8).reshape(-1, 1, DIGEST_BYTES)


def _kind(place: LanePlace | None, h_s: float) -> StepKind:
    if h_s == 0:
        return StepKind.ZERO
    if place is None:
        return StepKind.FREE
    return StepKind.RESET if place.kind == "reset" else StepKind.SUBSTEP


_packers: weakref.WeakKeyDictionary[TapSession, _Packer] = weakref.WeakKeyDictionary()
