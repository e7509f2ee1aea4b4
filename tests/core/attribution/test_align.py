"""The clocks of attributed recordings: segments, slopes, offsets, rewinds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pytest

from isoscope.core.attribution.align import AlignResult, align
from isoscope.core.attribution.attributor import attribute
from isoscope.core.attribution.clocks import clocks_of
from isoscope.core.attribution.report import AttributeResult, report
from isoscope.core.jsonform import decode, encode
from isoscope.core.recording.registry import load
from tests.core.attribution.shared_scene import run

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.attribution.align import AlignSegment, ClockFit


def fit(segment: AlignSegment, clock: str) -> ClockFit:
    (found,) = (f for f in segment.fits if f.clock == clock)
    return found


def aligned(recordings: Path, name: str) -> AlignResult:
    recording = load(recordings / f"{name}.h5")
    return align(recording, attribute(recording))


def test_the_scene_time_of_a_shared_scene(recordings: Path) -> None:
    found = aligned(recordings, "shared_cartpole_2env")
    assert [e.env for e in found.environments] == [0, 1]
    for environment in found.environments:
        assert [s.episode for s in environment.segments] == list(
            range(1, len(environment.segments) + 1)
        )
        for segment in environment.segments:
            scene, control = fit(segment, "scene"), fit(segment, "control")
            # a control step takes 0.04 s; the reset's 1e-5 s is an offset, no drift
            assert scene.slope_s_per_control_step == pytest.approx(0.04, abs=1e-12)
            assert scene.offset_s == pytest.approx(1e-5, abs=1e-12)
            assert scene.max_residual_s == 0
            assert control.offset_s == pytest.approx(0, abs=1e-12)
            assert segment.gaps == segment.duplicates == segment.reorders == []
            # the other environment's steps go by on the recording's clock
            recording = fit(segment, "recording").slope_s_per_control_step
            assert recording == pytest.approx(0.08, abs=1e-3)
        whys = [s.why_it_ends for s in environment.segments]
        assert whys == ["reset"] * (len(whys) - 1) + ["recording_end"]


def test_a_missed_restore_ends_a_segment(recordings: Path) -> None:
    found = aligned(recordings, "shared_cartpole_missed_restore")
    first, second = found.environments[0].segments[:2]
    assert first.why_it_ends == "missed_restore"
    assert (first.native[1], second.native[0]) == (31, 34)
    assert (first.control_steps, second.control_steps) == ((0, 8), (9, 10))


def test_rewinds_set_the_scene_time_back(recordings: Path) -> None:
    found = aligned(recordings, "restore_twice")
    assert [r.native for r in found.rewinds] == [15, 30]
    for rewind in found.rewinds:
        # no reset was recorded: counted from the first state that was
        assert rewind.relative
        assert rewind.scene_time_from_s == pytest.approx(0.3)
        assert rewind.scene_time_to_s == 0
    (environment,) = found.environments
    whys = [s.why_it_ends for s in environment.segments]
    assert whys == ["rewind", "rewind", "recording_end"]
    for segment in environment.segments:
        scene = fit(segment, "scene")
        assert scene.relative
        assert scene.slope_s_per_control_step is None
        assert scene.slope_s_per_native_step == pytest.approx(0.02)


def test_a_cut_episode_has_a_relative_scene_time(recordings: Path) -> None:
    found = aligned(recordings, "shared_cartpole_midstart")
    cut, whole = found.environments[0].segments
    assert fit(cut, "scene").relative
    assert not fit(whole, "scene").relative
    assert fit(whole, "scene").offset_s == pytest.approx(1e-5)


def test_wall_time_with_jitter() -> None:
    scene, _ = run(3, 30, seed=2, length=100)
    recording = scene.recording()
    attribution = attribute(recording)
    rng = np.random.default_rng(0)
    wall_s = 1000 + np.arange(len(scene)) * 0.005 + rng.normal(0, 2e-4, len(scene))
    found = align(recording, attribution, wall_s)
    for environment in found.environments:
        wall = fit(environment.segments[0], "wall")
        assert wall.slope_s_per_control_step == pytest.approx(0.03, abs=1e-3)
        assert 1e-4 < wall.jitter_s < 5e-4
        assert environment.segments[0].jitter_s == wall.jitter_s


def test_from_any_clock_to_the_row(recordings: Path) -> None:
    recording = load(recordings / "shared_cartpole_short_episodes.h5")
    clocks = clocks_of(recording, attribute(recording))
    for row in range(0, len(clocks), 7):
        env = int(clocks.env[row])
        for name, value in clocks.at(row).items():
            assert row in clocks.rows_at(name, value, env).tolist(), name


def test_a_steps_missing_ends_a_segment() -> None:
    scene, truth = run(3, 20, seed=3, length=100)
    lost = next(k for k in range(60, 90) if truth.substep[k] == 0 and truth.env[k] == 1)
    for column in (scene.h, scene.columns, scene.parents):
        del column[lost : lost + 2]
    recording = scene.recording()
    found = align(recording, attribute(recording))
    whys = [[s.why_it_ends for s in e.segments] for e in found.environments]
    assert whys == [["recording_end"], ["gap", "recording_end"], ["recording_end"]]


def test_the_written_forms(recordings: Path) -> None:
    recording = load(recordings / "shared_cartpole_midstart.h5")
    attribution = attribute(recording)
    found = align(recording, attribution)
    content = encode(found)
    assert decode(content, AlignResult) == found
    plain = json.loads(content)
    assert plain["schema"] == "isoscope.align/1"
    assert set(plain) == {"schema", "file", "environments", "rewinds"}
    segment = plain["environments"][0]["segments"][0]
    assert {
        "episode",
        "native",
        "why_it_ends",
        "fits",
        "gaps",
        "duplicates",
        "reorders",
        "jitter_s",
    } <= set(segment)
    assert {
        "clock",
        "slope_s_per_control_step",
        "offset_s",
        "max_residual_s",
    } <= set(segment["fits"][0])

    written = report(recording, attribution)
    assert decode(encode(written), AttributeResult) == written
    plain = json.loads(encode(written))
    assert next(iter(plain)) == "schema"
    assert plain["schema"] == "isoscope.attribute/1"
    assert {
        "file",
        "environments",
        "episodes",
        "substeps",
        "origin",
        "unknown",
        "reasons",
        "max_residual",
        "min_margin",
        "steps",
    } <= set(plain)
    first = plain["steps"][0]
    assert first == {
        "native": 0,
        "env": 0,
        "episode": 1,
        "control_step": 1,
        "substep": 0,
        "kind": "substep",
        "linked": True,
        "residual": None,
        "margin": None,
        "confidence": 1.0,
        "reason": None,
    }
    assert isinstance(written, msgspec.Struct)
