"""Native steps told as raw rows: merged, they are what single calls would have told."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.forms import frame_definition, read_definitions
from isoscope.core.recording.labelled.intake import Intake
from isoscope.core.recording.labelled.intake_recorder import IntakeRecorder
from isoscope.core.tap.adapters.superdex.native_rows import (
    MOST_LENGTHS,
    NativeRows,
    Settings,
)
from isoscope.core.tap.merge import Merger, PacketError
from isoscope.core.tap.packet import Outflow, Rows
from isoscope.core.tap.target import Target

SETTINGS = Settings((0.0, -9.8, 0.0), b"c" * 16)


class Readers:
    """As much of an adapter's as keeping rows takes."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def frames(self) -> list[Any]:
        return [self._frame]


class Scenes:
    """Two scenes of one session, and what their steps are merged into."""

    def __init__(self) -> None:
        self.recorder = IntakeRecorder(Intake(1 << 30, lambda: None))
        self.rows = []
        for scene in range(2):
            fields = [r.Field(name="pose", shape=(2,)), r.Field(name="speed")]
            frame = self.recorder.frame(fields, np.float32, scene=scene)
            self.rows.append(NativeRows(self.recorder.intake, Readers(frame), b"begin"))
        self.outflow = Outflow(self.recorder.intake)
        self.target = Target(Intake(1 << 30, lambda: None))
        self.merger = Merger(self.target)
        self.merged = Outflow(self.target.intake)
        self.blocks: dict[str, list[Any]] = {}

    def step(self, scene: int, env: int, state: bytes, value: float = 0.0) -> int:
        place = (env, 1, 2, 3, 0, scene, 0.1, 0.2, 5, 6, 7)
        values = [value, value + 1, value + 2]
        told = (1, 4, 1e-7)
        rows = self.rows[scene]
        return rows.add(place, told, SETTINGS, -1, values, state)

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


def digest(state: bytes) -> list[int]:
    return list(blake2b(state, digest_size=16).digest())


DOING = st.lists(
    st.one_of(
        st.tuples(
            st.just("step"),
            st.integers(0, 1),
            st.integers(-1, 2),
            st.binary(min_size=1, max_size=2),
        ),
        st.tuples(
            st.just("restore"),
            st.integers(0, 1),
            st.integers(-1, 2),
            st.binary(min_size=1, max_size=2),
        ),
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
            both.rows[scene].restored(state, env)
            states[scene] = state
        else:
            scene, env, state = told
            row = both.step(scene, env, state, float(len(expected)))
            assert row == len(expected)
            expected.append((env, scene, states[scene], state, float(len(expected))))
            states[scene] = state
    both.merge()
    if not expected:
        return
    natives = both.table("native")
    assert natives["env"].tolist() == [e[0] for e in expected]
    raw = [k for k, e in enumerate(expected) if e[2] is not None]
    for k in raw:
        assert natives["digest_before"][k].tolist() == digest(expected[k][2])
        assert natives["digest_after"][k].tolist() == digest(expected[k][3])
        assert natives["gravity"][k].tolist() == [0.0, -9.8, 0.0]
        assert natives["thread"][k] == 7
    total = np.add.accumulate(np.full(len(expected), 0.1))
    assert natives["time_s"].tobytes() == total.tobytes()
    framed = {}
    for name in both.blocks:
        if name.startswith("frame"):
            rows = both.table(name)
            assert (np.diff(rows["row"]) > 0).all()
            framed |= dict(zip(rows["row"].tolist(), rows["values"], strict=True))
            assert (rows["valid"] == 1).all()
    assert sorted(framed) == raw
    for k in raw:
        value = expected[k][4]
        assert framed[k].tolist() == [value, value + 1, value + 2]


def test_states_of_many_lengths_have_digests_all_the_same() -> None:
    both = Scenes()
    lengths = [*range(1, 3 * MOST_LENGTHS), 1, 2, 1]
    for length in lengths:
        both.step(0, 0, b"s" * length)
        both.merge()
    natives = both.table("native")
    after = [digest(b"s" * length) for length in lengths]
    assert natives["digest_after"].tolist() == after
    assert natives["digest_before"].tolist() == [digest(b"begin"), *after[:-1]]
    tables = [b.schema.name for b in both.recorder.intake.buffers]
    assert sum(name.startswith("raw") for name in tables) == MOST_LENGTHS + 1


def test_a_refused_step_is_counted_and_named_by_none() -> None:
    both = Scenes()
    both.step(0, 0, b"one")
    both.recorder.intake.accepts = False
    assert both.step(0, 0, b"two") == -1
    both.recorder.intake.reopen()
    assert both.step(0, 0, b"six") == 1
    both.merge()
    natives = both.table("native")
    assert natives["digest_before"].tolist() == [digest(b"begin"), digest(b"two")]
    assert both.table("dropped")["count"].tolist() == [1]


def test_a_full_buffer_loses_nothing() -> None:
    both = Scenes()
    state = bytes(100_000)  # few rows of it fill a buffer
    for _ in range(50):
        both.step(0, 0, state)
    both.recorder.native(r.NativeStep(env=9))
    both.step(0, 1, state)
    both.merge()
    assert both.table("native")["env"].tolist() == [*[0] * 50, 9, 1]


def test_two_steps_with_one_number_are_refused() -> None:
    both = Scenes()
    both.step(0, 0, b"one")
    packet = both.outflow.take()
    [block] = [b for b in packet.blocks if b.count]
    twice = bytes(block.content) * 2
    packet.blocks = [Rows(block.table, block.first, 2, twice)]
    with pytest.raises(PacketError):
        both.merger.take(packet)


def test_values_that_are_not_the_frames_are_refused() -> None:
    both = Scenes()
    both.step(0, 0, b"one")
    packet = both.outflow.take()
    told = read_definitions(packet.definitions)[0]
    for one in told:
        if "raw" in one:
            [values] = [c for c in one["columns"] if c["name"] == "values0"]
            values["shape"] = [2]
    packet.definitions = b"".join(map(frame_definition, told))
    with pytest.raises(PacketError):
        both.merger.take(packet)
