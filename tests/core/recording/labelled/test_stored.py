"""What a consumer stored, beside the transitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.recorder import Recorder
from isoscope.core.recording.labelled.stored import GROUP, StoredRecorder
from isoscope.core.recording.registry import load

if TYPE_CHECKING:
    from pathlib import Path


def test_columns_come_back_where_there_were_values(tmp_path: Path) -> None:
    path = tmp_path / "run.isoscope.h5"
    values = np.arange(8, dtype=np.float32).reshape(4, 2)
    with Recorder(path, r.Identity()) as recorder:
        for k in range(4):
            recorder.transition(r.Transition(0, 1, k + 1))
        stored = StoredRecorder(recorder)
        there = np.array([True, False, True, True])
        numbers = np.array([0, 1, 2, -1])  # the last one was refused
        stored.rows(numbers, {"action": values, "info/x": there}, {"action": there})
        stored.rows(np.array([3]), {"action": values[3:] + 1})
        StoredRecorder(recorder, "policy_state").rows(np.array([2]), {"h": values[:1]})
    labelled = load(path).labelled
    action = labelled.track("transitions", GROUP, "action").read(0, 4)
    assert action.valid.tolist() == [True, False, True, True]
    np.testing.assert_array_equal(action.values[[0, 2]], values[[0, 2]])
    np.testing.assert_array_equal(action.values[3], values[3] + 1)
    told = labelled.track("transitions", GROUP, "info/x").read(0, 4)
    assert told.valid.tolist() == [True, True, True, False]
    assert told.values[:3].tolist() == [True, False, True]
    hidden = labelled.track("transitions", "policy_state", "h").read(0, 4)
    assert hidden.valid.tolist() == [False, False, True, False]


def test_a_column_of_another_length_is_refused(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run.isoscope.h5", r.Identity()) as recorder:
        recorder.transition(r.Transition(0, 1, 1))
        with pytest.raises(ValueError, match="'reward' has 2 rows, not 1"):
            StoredRecorder(recorder).rows(np.array([0]), {"reward": np.zeros(2)})
