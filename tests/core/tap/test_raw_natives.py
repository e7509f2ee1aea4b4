"""Native steps told as they were read: merged, they are as single calls tell them."""

from __future__ import annotations

from hashlib import blake2b
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
from isoscope.core.tap.adapters.superdex.layout import SAMPLES
from isoscope.core.tap.adapters.superdex.native_rows import NativeRows
from isoscope.core.tap.merge import Merger, PacketError
from isoscope.core.tap.packet import Outflow
from isoscope.core.tap.target import Target

FIELDS = [r.Field(name="pose", shape=(2,)), r.Field(name="speed")]


class Readers:
    """As much of an adapter's as keeping rows takes."""

    soft = ()

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    def frames(self) -> list[Any]:
        return [self.frame]


class Scenes:
    """Two scenes of one session, and what their steps are merged into."""

    def __init__(self) -> None:
        self.recorder = IntakeRecorder(Intake(1 << 30, lambda: None))
        self.rows = []
        for scene in range(2):
            frame = self.recorder.frame(FIELDS, np.float32, scene=scene)
            self.rows.append(NativeRows(self.recorder, Readers(frame), b"begin", scene))  # type: ignore[arg-type]
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
        marks: Any = (),
        **more: Any,
    ) -> int:
        about = (env, 1, 2), 3, 0, (6, 7), (0.0, -9.8, 0.0), b"c" * 16
        taken = raw.Taken(*about, states, list(steps))
        count = sum(len(step) != raw.BETWEEN for step in steps)
        looks = more.get("looks", False)
        events = more.get("events", [])
        return self.rows[scene].add(taken, events, list(marks), count, looks)

    def step(
        self,
        scene: int,
        env: int,
        state: bytes,
        values: Any,
        full: Any = None,
        layout: int = raw.NO_LAYOUT,
    ) -> int:
        told = 0.1, 0.2, 5, (1, 4, 1e-7), -1
        one = (len(state), full, *told, values, layout)
        return self.take(scene, env, state, [one], looks=full is not None)

    def between(
        self, scene: int, env: int, what: int, about: Any, state: bytes = b""
    ) -> None:
        marks = [] if what == raw.KNOWN else [(what, about, 0, len(state))]
        self.take(scene, env, state, [(len(state), what, about)], marks)

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


def digest(state: bytes) -> list[int]:
    return list(blake2b(state, digest_size=16).digest())


PLACE = (st.integers(0, 1), st.integers(-1, 2))
STATE = st.binary(min_size=1, max_size=2)
DOING = st.lists(
    st.one_of(
        st.tuples(st.just("step"), *PLACE, STATE),
        st.tuples(st.just("restore"), *PLACE, STATE),
        st.tuples(st.just("capture"), *PLACE, st.integers(0, 3), STATE),
        st.tuples(st.just("known"), *PLACE, st.integers(0, 3)),
        st.tuples(st.just("merge")),
        st.tuples(st.just("single")),
    ),
    max_size=60,
)


@given(DOING)
def test_steps_of_several_scenes_keep_order_values_and_digests(doing: Any) -> None:
    both = Scenes()
    states = [b"begin", b"begin"]
    handles: dict[tuple[int, int], bytes] = {}
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
            both.between(scene, env, raw.RESTORED, -1, state)
            states[scene] = state
        elif what == "capture":
            scene, env, handle, state = told
            both.between(scene, env, raw.CAPTURED, handle, state)
            states[scene] = handles[scene, handle] = state
        elif what == "known":
            scene, env, handle = told
            if (scene, handle) in handles:
                both.between(scene, env, raw.KNOWN, handle)
                states[scene] = handles[scene, handle]
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
    both.between(0, 0, raw.CAPTURED, 5, b"five")
    both.recorder.intake.reopen()
    assert both.step(0, 0, b"six", [1, 2, 3]) == 1
    both.between(0, 0, raw.KNOWN, 5)
    both.step(0, 0, b"six", [1, 2, 3])
    both.merge()
    before = both.table("native")["digest_before"].tolist()
    assert before == [digest(b"begin"), digest(b"five"), digest(b"five")]
    assert both.table("dropped")["count"].tolist() == [1]


def test_events_are_before_the_step_that_followed() -> None:
    both = Scenes()
    both.step(0, 0, b"one", [1, 2, 3])
    about = (0, 0, -1, 1, 5, 6, 7)
    events = [(0, "restore", about), (1, "capture", about)]
    one = (3, None, 0.1, 0.2, 5, (1, 4, 1e-7), -1, [1, 2, 3], raw.NO_LAYOUT)
    both.take(0, 0, b"two", [one], events=events)
    both.merge()
    assert both.table("events")["row"].tolist() == [1, 2]


def test_another_state_than_that_of_the_handle_is_met() -> None:
    both = Scenes()
    both.between(0, 0, raw.CAPTURED, 4, b"four")
    both.between(0, 0, raw.RESTORED, 4, b"four")
    both.merge()
    assert both.rows[0].exact
    both.between(0, 0, raw.RESTORED, 4, b"fou!")
    both.merge()
    assert not both.rows[0].exact


# -- values that lie in states --


def state_of(values: Any) -> bytes:
    """A byte, then the three values as they are told, the speed twice."""
    found = np.array([*values, values[2]], np.float32).tobytes()
    return b"x" + found + b"end"


def learnt() -> tuple[Scenes, Any]:
    """Scenes whose layout is known, and the next step's values."""
    both = Scenes()
    for k in range(SAMPLES):
        values = [float(k), k / 3, -1.0 / (k + 1)]
        told = np.float32(values).tolist()
        both.step(0, 0, state_of(values), told, told)
    both.merge()
    return both, np.float32([0.5, 7.25, -3.0]).tolist()


def test_what_lies_in_states_is_not_told_twice_and_waits_for_a_check() -> None:
    both, values = learnt()
    layout = both.rows[0].layout
    assert layout is not None
    assert len(layout.asked) == 0
    first = both.step(0, 0, state_of(values), [], None, layout.number)
    both.merge()
    assert len(both.table("native")) == first + 1
    assert first not in both.framed()
    both.step(0, 0, state_of(values[::-1]), [], values[::-1], layout.number)
    both.step(0, 0, state_of(values), [], None, layout.number)
    both.merge()
    assert both.framed()[first] == values
    assert both.framed()[first + 1] == values[::-1]
    assert first + 2 not in both.framed()
    both.between(0, 0, raw.SETTLED, values, state_of(values))
    both.merge()
    assert both.framed()[first + 2] == values


def test_what_lies_elsewhere_is_dropped_told_and_asked_for_again() -> None:
    both, values = learnt()
    layout = both.rows[0].layout
    assert layout is not None
    first = both.step(0, 0, state_of(values), [], None, layout.number)
    both.step(0, 0, state_of(values), [], [1.0, 2.0, 3.0], layout.number)
    both.merge()
    assert both.rows[0].layout is None
    third = both.step(0, 0, state_of(values), values, values)
    both.merge()
    framed = both.framed()
    assert first not in framed
    assert first + 1 not in framed
    assert framed[third] == values
    assert both.table("dropped")["count"].tolist() == [2]


def test_a_state_of_another_length_is_read_whole_meanwhile() -> None:
    both, values = learnt()
    layout = both.rows[0].layout
    assert layout is not None
    both.step(0, 0, state_of(values), [], values, layout.number)
    row = both.step(0, 0, b"short", values, values)
    both.step(0, 0, state_of(values), [], values, layout.number)
    both.merge()
    framed = both.framed()
    assert [framed[k] for k in (row - 1, row, row + 1)] == [values] * 3


def content(*items: Any) -> bytes:
    return msgspec.msgpack.encode(items)


def taken(values: Any = (1, 2, 3), layout: int = -1, **changes: Any) -> Any:
    step = (3, None, 0.1, 0.2, 5, (1, 4, 1e-7), -1, values, layout)
    about = {"place": (0, 1, 2), "substep": 3, "kind": 0, "where": (6, 7)}
    about |= {"gravity": (0, 0, 0), "digest": b"c" * 16, "states": b"one"}
    return 0, [*(about | changes).values(), [step]]


@pytest.mark.parametrize(
    "bad",
    [
        b"\xc1",
        content(taken(values=(1, 2))),
        content(taken(layout=0)),
        content((0, 99, [0], [0]), taken(values=(1, 2), layout=0)),
        content((0, 3, [0], [0]), taken(values=(1, 2), layout=0)),
        content((0, 3, [7], [0])),
        content((0, 8, [1, 0], [0, 4])),
        content(taken(place=(1 << 40, 1, 2))),
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


def test_two_steps_with_one_number_are_refused() -> None:
    both = Scenes()
    both.step(0, 0, b"one", [1, 2, 3])
    packet = both.outflow.take()
    packet.blobs = [(n, content(taken(), taken())) for n, _ in packet.blobs]
    with pytest.raises(PacketError):
        both.merger.take(packet)
