"""Native steps told as they were read: merged, they are as single calls tell them."""

from __future__ import annotations

import struct
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.intake import Intake
from isoscope.core.recording.labelled.intake_recorder import IntakeRecorder
from isoscope.core.tap import raw_natives as raw
from isoscope.core.tap.adapters.superdex.native_rows import NativeRows, pack_event
from isoscope.core.tap.merge import Merger, PacketError
from isoscope.core.tap.packet import Outflow
from isoscope.core.tap.target import Target

FIELDS = [r.Field(name="pose", shape=(2,)), r.Field(name="speed")]
# The speed lies before the pose.
LAYOUT = raw.Layout("<f4", 3, [1, 2, 0])


class Scenes:
    """Two scenes of one session, and what their steps are merged into."""

    def __init__(self) -> None:
        self.recorder = IntakeRecorder(Intake(1 << 30, lambda: None))
        self.rows = []
        for scene in range(2):
            frame = self.recorder.frame(FIELDS, np.float32, scene=scene)
            told = [frame], LAYOUT, b"begin", scene
            self.rows.append(NativeRows(self.recorder, *told))
        self.outflow = Outflow(self.recorder.intake)
        self.target = Target(Intake(1 << 30, lambda: None))
        self.merger = Merger(self.target)
        self.merged = Outflow(self.target.intake)
        self.blocks: dict[str, list[Any]] = {}

    def take(
        self,
        scene: int,
        env: int,
        states: bytes,
        steps: Any,
        left: int = -1,
        events: Any = (),
    ) -> int:
        about = env, 1, 2, 3, 0, 6, 7, (0.0, -9.8, 0.0), b"c" * 16
        taken = *about, states, left, b"".join(steps)
        last = left if left >= 0 else np.frombuffer(steps[-1], raw.HEAD, 1)["begin"][0]
        return self.rows[scene].add((taken, last, events), len(steps), len(states))

    def step(self, scene: int, env: int, state: bytes, values: Any) -> int:
        return self.take(scene, env, state, [step(0, len(state), values)])

    def restore(self, scene: int, env: int, state: bytes) -> None:
        self.take(scene, env, state, [], left=0)

    def merge(self) -> None:
        packet = self.outflow.take()
        if packet:
            self.merger.take(packet)
        for block in self.merged.take().blocks:
            schema = self.target.intake.buffers[block.table].schema
            found = np.frombuffer(block.content, schema.dtype).copy()
            self.blocks.setdefault(schema.name, []).append(found)

    def table(self, name: str) -> Any:
        return np.concatenate(self.blocks[name])

    def framed(self) -> dict[int, list[float]]:
        """Values by row, of all frames."""
        found: dict[int, list[float]] = {}
        for name in self.blocks:
            if name.startswith("frame"):
                rows = self.table(name)
                assert (np.diff(rows["row"]) > 0).all()
                assert (rows["valid"] == 1).all()
                values = rows["values"].tolist()
                found |= dict(zip(rows["row"].tolist(), values, strict=True))
        return found


def step(begin: int, end: int, values: Any, left: int = -1) -> bytes:
    head = raw.pack_head(left, begin, end, 1, 4, -1, 1e-7, 0.1, 0.2, 5)
    return head + struct.pack("<3f", values[2], values[0], values[1])


def digest(state: bytes) -> list[int]:
    return list(blake2b(state, digest_size=16).digest())


PLACE = (st.integers(0, 1), st.integers(-1, 2))
STATE = st.binary(min_size=1, max_size=2)
DOING = st.lists(
    st.one_of(
        st.tuples(st.just("step"), *PLACE, STATE),
        st.tuples(st.just("restore"), *PLACE, STATE),
        st.tuples(st.just("turn"), *PLACE, st.lists(STATE, min_size=1, max_size=4)),
        st.tuples(st.just("merge")),
        st.tuples(st.just("single")),
    ),
    max_size=60,
)


@given(DOING)
def test_steps_of_several_scenes_keep_order_values_and_digests(doing: Any) -> None:
    both = Scenes()
    states = [b"begin", b"begin"]
    expected: list[Any] = []
    for what, *told in doing:
        if what == "merge":
            both.merge()
        elif what == "single":
            row = both.recorder.native(r.NativeStep(env=9, h_s=0.1))
            assert row == len(expected)
            expected.append((9, -1, None, None, None))
        elif what == "restore":
            scene, env, state = told
            both.restore(scene, env, state)
            states[scene] = state
        elif what == "turn":  # a restore, then as many steps, told at once
            scene, env, several = told
            ends = np.cumsum([len(state) for state in several]).tolist()
            first = float(len(expected))
            steps = []
            for k, (begin, end) in enumerate(pairwise(ends)):
                values = [first + k, first + k + 1, first + k + 2]
                steps.append(step(begin, end, values, -1 if k else 0))
            left = -1 if steps else 0
            row = both.take(scene, env, b"".join(several), steps, left)
            assert row == len(expected)
            for k, (before, after) in enumerate(pairwise(several)):
                expected.append((env, scene, before, after, first + k))
            states[scene] = several[-1]
        else:
            scene, env, state = told
            value = float(len(expected))
            row = both.step(scene, env, state, [value, value + 1, value + 2])
            assert row == len(expected)
            expected.append((env, scene, states[scene], state, value))
            states[scene] = state
    both.merge()
    if not expected:
        return
    natives = both.table("native")
    assert natives["env"].tolist() == [e[0] for e in expected]
    told_raw = [k for k, e in enumerate(expected) if e[2] is not None]
    for k in told_raw:
        assert natives["scene"][k] == expected[k][1]
        assert natives["digest_before"][k].tolist() == digest(expected[k][2])
        assert natives["digest_after"][k].tolist() == digest(expected[k][3])
        assert natives["gravity"][k].tolist() == [0.0, -9.8, 0.0]
        assert natives["thread"][k] == 7
    total = np.add.accumulate(np.full(len(expected), 0.1))
    assert natives["time_s"].tobytes() == total.tobytes()
    framed = both.framed()
    assert sorted(framed) == told_raw
    for k in told_raw:
        value = expected[k][4]
        assert framed[k] == [value, value + 1, value + 2]


def test_a_refused_step_is_counted_and_named_by_none() -> None:
    both = Scenes()
    both.step(0, 0, b"one", [1, 2, 3])
    both.recorder.intake.accepts = False
    assert both.step(0, 0, b"two", [1, 2, 3]) == -1
    both.restore(0, 0, b"five")
    both.recorder.intake.reopen()
    assert both.step(0, 0, b"six", [1, 2, 3]) == 1
    both.merge()
    before = both.table("native")["digest_before"].tolist()
    assert before == [digest(b"begin"), digest(b"five")]
    assert both.table("dropped")["count"].tolist() == [1]


def test_events_are_before_the_step_that_followed() -> None:
    both = Scenes()
    both.step(0, 0, b"one", [1, 2, 3])
    about = (0, 0, -1, 1, 5, 6, 7, -1)
    kinds = [both.recorder.intake.text(kind) for kind in ("restore", "capture")]
    events = [pack_event(kind, k, *about) for k, kind in enumerate(kinds)]
    both.take(0, 0, b"two", [step(0, 3, [1, 2, 3])], events=events)
    both.merge()
    assert both.table("events")["row"].tolist() == [1, 2]
    assert both.table("events")["kind"].tolist() == [0, 1]


def content(*items: Any) -> bytes:
    return msgspec.msgpack.encode(items)


def taken(**changes: Any) -> Any:
    about = {"env": 0, "episode": 1, "control_step": 2, "substep": 3, "kind": 0}
    about |= {"process": 6, "thread": 7, "gravity": (0, 0, 0), "digest": b"c" * 16}
    about |= {"states": b"one", "left": -1, "steps": step(0, 3, (1, 2, 3))}
    return 0, [*(about | changes).values()]


@pytest.mark.parametrize(
    "bad",
    [
        b"\xc1",
        content(taken(steps=step(0, 3, (1, 2, 3))[:-4])),
        content(taken(steps=step(0, 4, (1, 2, 3)))),
        content(taken(steps=step(2, 1, (1, 2, 3)))),
        content(taken(steps=step(1, 3, (1, 2, 3), left=2))),
        content(taken(left=4)),
        content(taken(left=2)),
        content((0, 3, [0], [0])),
        content(taken(env=1 << 40)),
        content(taken(gravity=(0, 0))),
        content((0, [1])),
        content(7),
    ],
)
def test_what_makes_no_sense_is_refused(bad: bytes) -> None:
    both = Scenes()
    both.step(0, 0, b"one", [1, 2, 3])
    packet = both.outflow.take()
    packet.blobs = [(number, bad) for number, _ in packet.blobs]
    with pytest.raises(PacketError):
        both.merger.take(packet)


@pytest.mark.parametrize(
    ("dtype", "count", "order"),
    [
        ("<f4", 3, [0, 1]),
        ("<f4", 3, [0, 1, 3]),
        ("<f4", 3, [0, -1, 2]),
        ("<i4", 3, [0]),
    ],
)
def test_values_that_are_not_their_frames_are_refused(
    dtype: str, count: int, order: list[int]
) -> None:
    both = Scenes()
    frame = both.recorder.frame(FIELDS, np.float32, scene=0)
    NativeRows(both.recorder, [frame], raw.Layout(dtype, count, order), b"", 0)
    with pytest.raises(PacketError):
        both.merge()


def test_two_steps_with_one_number_are_refused() -> None:
    both = Scenes()
    both.step(0, 0, b"one", [1, 2, 3])
    packet = both.outflow.take()
    packet.blobs = [(n, content(taken(), taken())) for n, _ in packet.blobs]
    with pytest.raises(PacketError):
        both.merger.take(packet)
