"""clock-mismatch and incomplete-recording."""

from __future__ import annotations

import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

from isoscope.core.recording.model import Problem, Recording
from isoscope.core.recording.registry import load
from tests.core.isolation.worlds import found, reason_not_run, shared

RECORDINGS = Path(__file__).parents[2] / "data" / "recordings"


def _shifted(change) -> Recording:
    recording = shared(2, 10).recording()
    change(recording.steps.time_s)
    return recording


# -- clock-mismatch --------------------------------------------------------------------


def test_a_clock_that_jumps() -> None:
    def drop(time_s: np.ndarray) -> None:
        time_s[20:] += 26.0

    (finding,) = found(_shifted(drop), "clock-mismatch")
    assert finding.severity == "warning"
    assert finding.native == (20, 20)
    assert finding.evidence["gap_s"] == pytest.approx(26.0)
    assert "jumps" in finding.headline


def test_a_clock_that_begins_again() -> None:
    def again(time_s: np.ndarray) -> None:
        time_s[20:] -= time_s[19]

    (finding,) = found(_shifted(again), "clock-mismatch")
    assert finding.native == (20, 20)
    assert "goes back" in finding.headline


def test_a_clock_in_another_unit_is_one_finding() -> None:
    def milliseconds(time_s: np.ndarray) -> None:
        time_s *= 1000.0

    (finding,) = found(_shifted(milliseconds), "clock-mismatch")
    assert finding.native == (0, 41)


def test_rounding_is_no_mismatch() -> None:
    def rounded(time_s: np.ndarray) -> None:
        time_s[:] = np.nextafter(time_s, 1e9)

    assert found(_shifted(rounded), "clock-mismatch") == []


def test_without_times_it_can_not_run() -> None:
    def unknown(time_s: np.ndarray) -> None:
        time_s[:] = np.nan

    reason = reason_not_run(_shifted(unknown), "clock-mismatch")
    assert reason == "the steps lack their time or their h"


# -- incomplete-recording --------------------------------------------------------------


def test_what_could_not_be_read() -> None:
    recording = shared(2, 10).recording()
    recording.problems.append(Problem("can't be read", "/events/9", 3, "error"))
    (finding,) = found(recording, "incomplete-recording")
    assert finding.severity == "warning"
    assert finding.evidence["places"] == 3


def test_a_remark_is_nothing_missing() -> None:
    recording = shared(2, 10).recording()
    recording.problems.append(Problem("odd", "/events/9"))
    assert found(recording, "incomplete-recording") == []


def test_an_index_that_was_stopped() -> None:
    recording = shared(2, 10).recording()
    recording.complete = False
    (finding,) = found(recording, "incomplete-recording")
    assert "stopped before the end" in finding.message


def test_steps_that_were_cut_out_of_the_middle(tmp_path: Path) -> None:
    path = tmp_path / "cut.h5"
    shutil.copy(RECORDINGS / "shared_cartpole_2env.h5", path)
    with h5py.File(path, "r+") as file:
        events = file["events"]
        numbers = sorted(events, key=int)
        for number in numbers[40:60]:
            del events[number]
    seen = found(path, "incomplete-recording")
    assert seen
    assert all(f.severity == "warning" for f in seen)


def test_bodies_that_were_all_created_just_before_a_step_lack_nothing(
    tmp_path: Path,
) -> None:
    path = tmp_path / "cut.h5"
    shutil.copy(RECORDINGS / "shared_cartpole_2env.h5", path)
    with h5py.File(path, "r+") as file:
        for number in sorted(file["events"], key=int)[40:60]:
            del file["events"][number]
    recording = load(path)
    at = {f.native[0] for f in found(recording, "incomplete-recording") if f.native}
    assert at
    moving = [actor for actor in recording.actors if not actor.static]
    for created in (moving[:1], moving):
        for actor in created:
            actor.created_native = min(at)
        now = {
            f.native[0] for f in found(recording, "incomplete-recording") if f.native
        }
        assert now == (at if created is not moving else at - {min(at)})
