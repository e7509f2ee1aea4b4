"""Time that goes backwards: restarts are segments, reorders and duplicates are told."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
import pytest

from isoscope.app.main import main
from isoscope.core.attribution.attributor import attribute
from isoscope.core.attribution.clocks import clocks_of
from isoscope.core.recording.registry import load

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Stamps = np.ndarray[Any, np.dtype[np.float64]]


def restarting(stamps: Stamps) -> Stamps:
    stamps[84:] -= stamps[83]
    stamps[42:84] -= stamps[41]
    return stamps


def early_by_3_ms(stamps: Stamps) -> Stamps:
    stamps[60] = stamps[59] - 0.003
    return stamps


def repeated(stamps: Stamps) -> Stamps:
    stamps[61:63] = stamps[60]
    return stamps


def dropped_by_26_s(stamps: Stamps) -> Stamps:
    stamps[60:] -= 26
    return stamps


@pytest.fixture
def stamped(request: pytest.FixtureRequest, recordings: Path, tmp_path: Path) -> Path:
    """The shared recording with other stamps of its recording time."""
    change: Callable[[Stamps], Stamps] = request.param
    path = tmp_path / f"{change.__name__}.h5"
    shutil.copy(recordings / "shared_cartpole_2env.h5", path)
    with h5py.File(path, "r+") as file:
        steps = [
            event
            for _, event in sorted(file["events"].items(), key=lambda e: int(e[0]))
            if "timeTotal" in event.attrs
        ]
        stamps = np.array([float(step.attrs["timeTotal"]) for step in steps])
        for step, value in zip(steps, change(stamps), strict=True):
            step.attrs.modify("timeTotal", np.float64(value))
    return path


def aligned(path: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """All segments, by the command."""
    assert main(["align", str(path), "--json"]) == 0
    written = json.loads(capsys.readouterr().out)
    return [s for e in written["environments"] for s in e["segments"]]


def restarts(segments: list[dict[str, Any]]) -> list[int]:
    """The last rows before a clock that restarts."""
    ends = [s["native"][1] for s in segments if s["why_it_ends"] == "clock_restart"]
    return sorted(ends)


def spots(segments: list[dict[str, Any]], what: str) -> list[int]:
    found = [s for segment in segments for s in segment[what]]
    assert all(s["clock"] == "recording" for s in found)
    return sorted(s["native"] for s in found)


@pytest.mark.parametrize(
    ("stamped", "last"),
    [(restarting, [39, 81, 83]), (dropped_by_26_s, [57, 59])],
    indirect=["stamped"],
)
def test_a_restart_and_a_great_drop_begin_segments(
    stamped: Path, last: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    segments = aligned(stamped, capsys)
    assert restarts(segments) == last
    assert spots(segments, "reorders") == spots(segments, "duplicates") == []
    for segment in segments:
        (clock,) = (f for f in segment["fits"] if f["clock"] == "recording")
        # one line fits, now that it does not run over the restart
        assert clock["slope_s_per_control_step"] == pytest.approx(0.08, abs=1e-3)
        assert clock["max_residual_s"] < 0.05


@pytest.mark.parametrize("stamped", [restarting, dropped_by_26_s], indirect=True)
def test_what_is_sought_by_such_a_clock_is_in_ascending_order(stamped: Path) -> None:
    recording = load(stamped)
    clocks = clocks_of(recording, attribute(recording))
    for row in range(0, len(clocks), 7):
        rows = clocks.rows_at("recording", clocks.at(row)["recording"]).tolist()
        assert row in rows
        assert rows == sorted(rows)


@pytest.mark.parametrize("stamped", [early_by_3_ms], indirect=True)
def test_a_reorder_of_3_ms_is_told_and_no_segment(
    stamped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    segments = aligned(stamped, capsys)
    assert restarts(segments) == []
    assert spots(segments, "reorders") == [60]
    assert main(["audit", str(stamped), "--json"]) == 0
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["id"], finding["severity"]) == ("clock-mismatch", "warning")
    assert "goes back" in finding["message"]


@pytest.mark.parametrize("stamped", [repeated], indirect=True)
def test_duplicates_are_kept_in_their_order(
    stamped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    segments = aligned(stamped, capsys)
    assert restarts(segments) == spots(segments, "reorders") == []
    assert spots(segments, "duplicates") == [61, 62]
    recording = load(stamped)
    kept = np.array(recording.steps.time_s)
    assert kept[60] == kept[61] == kept[62]
    assert len(kept) == 125
