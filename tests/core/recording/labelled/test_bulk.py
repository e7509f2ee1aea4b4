"""Whole rows and whole batches at once: the same as field by field."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.core.recording import registry
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.intake_recorder import transition_rows
from isoscope.core.recording.labelled.recorder import Recorder

if TYPE_CHECKING:
    from pathlib import Path

FIELDS = [r.Field(name="pose", shape=(2,)), r.Field(name="load")]


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "f2"])
def test_filling_all_is_filling_each(tmp_path: Path, dtype: str) -> None:
    path = tmp_path / "run.isoscope.h5"
    with Recorder(path, r.Identity()) as recorder:
        actor = recorder.actor(r.ActorInfo(name="a", type="Rigid"))
        fields = [r.Field(name=f.name, shape=f.shape, actor=actor) for f in FIELDS]
        frame = recorder.frame(fields, dtype)
        for row in range(2000):  # over the end of a block
            if row % 2:
                frame.fill([row, row + 1, row + 2])
            else:
                frame.put(0, [row, row + 1])
                frame.put(1, row + 2)
            if row % 7:
                recorder.native(r.NativeStep(h_s=0.1), frame)
            else:  # refused ones leave nothing behind
                frame.commit(-1)
                recorder.native(r.NativeStep(h_s=0.1))
    fields_read = registry.load(path).actors[0].fields
    kept = np.array([row for row in range(2000) if row % 7])
    for name, expected in (
        ("pose", np.stack([kept, kept + 1], 1)),
        ("load", kept + 2),
    ):
        window = fields_read[name].read(0, 2000)
        values = np.asarray(window.values)
        np.testing.assert_array_equal(np.flatnonzero(window.valid), kept)
        np.testing.assert_array_equal(
            values[window.valid], expected.astype(dtype).astype(values.dtype)
        )


def test_filling_needs_all_numbers(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run.isoscope.h5", r.Identity()) as recorder:
        frame = recorder.frame(FIELDS, "f8")
        with pytest.raises(struct.error):
            frame.fill([1.0, 2.0])


def test_a_batch_is_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "run.isoscope.h5"
    group = "observation_after"
    with Recorder(path, r.Identity()) as recorder:
        fields = [r.Field(name="x", shape=(2,), group=group)]
        frame = recorder.frame(fields, "f4", over="transitions")
        seen = []
        for step in range(700):
            rows = transition_rows(3)
            rows["env"], rows["control_step"] = np.arange(3), step
            values = np.arange(6).reshape(3, 2) + step
            valid = np.array([[1], [0], [1]])
            seen.append(recorder.transitions(rows, [(frame, values, valid)]))
        assert seen == list(range(0, 2100, 3))
    labelled = registry.load(path).labelled
    assert labelled is not None
    window = labelled.track("transitions", group, "x").read(0, 2100)
    assert window.valid.tolist() == [True, False, True] * 700
    np.testing.assert_array_equal(window.values[2097], [699, 700])
    kept = labelled.transitions()
    assert len(kept) == 2100
    for row, transition in enumerate(kept[:6]):
        assert np.isnan(transition.reward)
        expected = r.Transition(env=row % 3, control_step=row // 3)
        transition.reward = expected.reward
        assert transition == expected
