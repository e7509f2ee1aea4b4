"""The benchmark of the audit: what it measures on, and what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.app.bench import audit_bench, audit_live
from isoscope.app.bench.labelled_run import record_run
from isoscope.app.bench.shared_run import generate
from isoscope.core.recording.registry import load

if TYPE_CHECKING:
    from pathlib import Path


def test_the_recording_is_the_run_with_its_truth(tmp_path: Path) -> None:
    made = generate(4, 600, seed=3)
    path = tmp_path / "run.isoscope.h5"
    record_run(made, path)
    recording = load(path)
    assert recording.complete
    for name in ("env", "episode", "control_step", "substep", "kind"):
        np.testing.assert_array_equal(
            getattr(recording.labels, name), getattr(made.truth, name)
        )
    labelled = recording.labelled
    assert labelled is not None
    resets = int((made.truth.control_step == 0).sum())
    assert labelled.count("resets") == resets
    assert labelled.count("transitions") == resets + (len(made) - resets) // 2


def test_it_says_what_it_measured() -> None:
    figures = audit_bench.run(steps=1500, phases=0)
    assert figures["runs"] == 5
    assert figures["findings"] == 0
    assert figures["steps"] >= 1500
    assert figures["not_run"] < figures["checks"] / 3
    assert figures["ratio_read"] > 0


def test_a_live_run_is_audited_in_half_of_the_phases() -> None:
    figures = audit_live.run(2, phase_s=0.6)
    assert figures["live_on_hz"] > 0
    assert figures["live_off_hz"] > 0
    assert figures["ratio_live"] == figures["live_on_hz"] / figures["live_off_hz"]
    assert figures["live_told"] >= 1
    assert figures["live_findings"] == 0
    assert figures["live_steps"] > 0
