"""Whatever is recorded is read back: arbitrary tables, any dtype, any flush."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from isoscope.core.recording import registry
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.recorder import Recorder
from isoscope.core.recording.labelled.repair import repair

if TYPE_CHECKING:
    from isoscope.core.recording.model import Recording

NUMBERS = st.integers(-1, 2**31 - 1)
LONG = st.integers(-(2**63), 2**63 - 1)
REALS = st.floats(allow_nan=True, allow_infinity=True)
DIGESTS = st.one_of(st.just(b""), st.binary(min_size=16, max_size=16).filter(any))
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), LONG, st.floats(-1e9, 1e9), TEXTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)
    ),
    max_leaves=4,
)
KINDS: dict[str, tuple[str, type[msgspec.Struct]]] = {
    "transition": ("transitions", r.Transition),
    "reset": ("resets", r.Reset),
    "profile": ("profile", r.ProfileEntry),
    "change": ("changes", r.ConfigurationChange),
    "failure": ("failures", r.Failure),
    "event": ("events", r.SceneEvent),
    "chunk": ("chunks", r.ChunkEvent),
    "dropped": ("dropped", r.Dropped),
}
LONG_FIELDS = {
    *("seed", "first_row", "last_row", "wall_ns", "row", "transition", "thread"),
    *("snapshot", "step", "epoch", "rank", "stage", "chunk", "first_slot"),
    *("stop_slot", "count", "id", "restored_from", "capture_id"),
}


def strategy(kind: type[msgspec.Struct]) -> st.SearchStrategy[msgspec.Struct]:
    values: dict[str, st.SearchStrategy[Any]] = {}
    for field in msgspec.structs.fields(kind):
        if field.name == "seed" and kind is r.Reset:
            values[field.name] = JSON
        elif field.type is int:
            values[field.name] = LONG if field.name in LONG_FIELDS else NUMBERS
        elif field.type is float:
            values[field.name] = REALS
        elif field.type is bytes:
            values[field.name] = DIGESTS if "digest" in field.name else st.binary()
        elif field.type is str:
            values[field.name] = TEXTS
        else:
            values[field.name] = JSON
    return st.builds(kind, **values)


def equal(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(equal, a, b))
    return bool(a == b)


def same(told: list[msgspec.Struct], read: list[Any]) -> None:
    assert len(told) == len(read)
    for a, b in zip(told, read, strict=True):
        assert equal(msgspec.structs.asdict(a), msgspec.structs.asdict(b)), (a, b)


@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_records_of_every_kind(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.isoscope.h5"
        told: dict[str, list[msgspec.Struct]] = {}
        steps = data.draw(st.lists(strategy(r.NativeStep), max_size=5))
        shots = data.draw(st.lists(strategy(r.Snapshot), max_size=3))
        recorder = Recorder(path, r.Identity())
        for method, (_, kind) in KINDS.items():
            told[method] = data.draw(st.lists(strategy(kind), max_size=4))
            for number, record in enumerate(told[method]):
                assert getattr(recorder, method)(record) == number
            if data.draw(st.booleans()):
                assert recorder.flush()
        for number, step in enumerate(steps):
            assert recorder.native(step) == number  # type: ignore[arg-type]
        for number, shot in enumerate(shots):
            shot.id = number  # type: ignore[attr-defined]
            assert recorder.snapshot(shot) == number  # type: ignore[arg-type]
        recorder.close()
        recording = registry.load(path)
        labelled = recording.labelled
        assert labelled is not None
        for method, (table, kind) in KINDS.items():
            same(told[method], labelled.records(table, kind))
        for shot in shots:
            number = shot.id  # type: ignore[attr-defined]
            content = shot.data  # type: ignore[attr-defined]
            assert labelled.snapshot_data(number) == content
            shot.data = b""  # type: ignore[attr-defined]
        same(shots, labelled.snapshots())
        read = labelled.columns("native")
        for name in ("env", "wall_ns", "h_s", "solver_residual", "restored_from"):
            expected = np.array([getattr(s, name) for s in steps])
            np.testing.assert_array_equal(read[name], expected)


DTYPES = ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?")


@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(st.sampled_from(DTYPES), hnp.array_shapes(max_dims=2, max_side=3)),
        min_size=1,
        max_size=3,
    ),
    st.integers(0, 40),
    st.integers(0, 2**32 - 1),
)
def test_frames_of_every_dtype(
    fields: list[tuple[str, tuple[int, ...]]], rows: int, seed: int
) -> None:
    chance = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.isoscope.h5"
        recorder = Recorder(path, r.Identity())
        frames = [
            recorder.frame([r.Field(name=f"f{k}", shape=shape)], dtype)
            for k, (dtype, shape) in enumerate(fields)
        ]
        loose = recorder.ragged(r.Field(name="loose", shape=(2,)), "f4")
        told: list[list[np.ndarray[Any, Any] | None]] = []
        contacts: list[np.ndarray[Any, Any] | None] = []
        for _ in range(rows):
            line: list[np.ndarray[Any, Any] | None] = []
            for frame, (dtype, shape) in zip(frames, fields, strict=True):
                kind = np.dtype(dtype)
                size = int(np.prod(shape)) * kind.itemsize
                raw = chance.bytes(size)
                value = np.frombuffer(raw, kind).reshape(shape)
                if kind.kind == "b":
                    value = np.frombuffer(raw, "u1").reshape(shape) > 127
                if chance.random() < 0.3:
                    line.append(None)
                    continue
                frame.put(0, value)
                line.append(value)
            row = recorder.native(r.NativeStep(h_s=1.0), *frames)
            many = int(chance.integers(-1, 4))
            entries = None
            if many >= 0:
                entries = chance.random((many, 2), np.float32)
                loose.put(row, entries)
            contacts.append(entries)
            told.append(line)
            if chance.random() < 0.05:
                assert recorder.flush()
        recorder.close()
        repaired = repair(path).out
        for place in (path, repaired):
            recording = registry.load(place)
            assert len(recording) == rows
            for k in range(len(fields)):
                check_track(recording, f"f{k}", [line[k] for line in told])
            check_track(recording, "loose", contacts)


def check_track(
    recording: Recording, name: str, told: list[np.ndarray[Any, Any] | None]
) -> None:
    track = recording.scene[name]
    assert len(track) == len(told)
    assert track.present_count() == sum(v is not None for v in told)
    for row, value in enumerate(told):
        found = track.at(row)
        assert (found is None) == (value is None)
        assert track.present(row) == (value is not None)
        if found is not None and value is not None:
            assert found.dtype == value.dtype
            assert found.shape == value.shape
            if value.dtype != np.float16:  # whose NaNs' payloads a wider one may change
                assert found.tobytes() == value.tobytes()
            else:
                np.testing.assert_array_equal(found, value)


def test_what_no_column_holds_is_refused_when_it_is_declared(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run.isoscope.h5", r.Identity()) as recorder:
        for dtype in ("c8", "S4", "O"):
            with pytest.raises(TypeError, match="can't be recorded"):
                recorder.frame([r.Field(name="x")], dtype)
        with pytest.raises(ValueError, match="goes with native or transitions"):
            recorder.frame([r.Field(name="x")], "f4", over="resets")
        frame = recorder.frame([r.Field(name="x", shape=(3,))], "f4")
        with pytest.raises(ValueError, match="x has 2 components, not 3"):
            frame.put(0, [1, 2])
