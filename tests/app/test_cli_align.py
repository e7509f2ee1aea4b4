from __future__ import annotations

import re

import pytest

from tests.app.cli import as_json, path, printed

SEGMENT_KEYS = {
    "episode",
    "native",
    "why_it_ends",
    "fits",
    "gaps",
    "duplicates",
    "reorders",
    "jitter_s",
}
FIT_KEYS = {"clock", "slope_s_per_control_step", "offset_s", "max_residual_s"}


def fit(segment: dict, clock: str) -> dict:
    (found,) = [f for f in segment["fits"] if f["clock"] == clock]
    return found


def test_the_written_form(capsys: pytest.CaptureFixture[str]) -> None:
    found = as_json(capsys, "align", path("shared_cartpole_2env"))
    assert found["schema"] == "isoscope.align/1"
    assert found["file"] == path("shared_cartpole_2env")
    assert found["rewinds"] == []
    assert [one["env"] for one in found["environments"]] == [0, 1]
    for environment in found["environments"]:
        for segment in environment["segments"]:
            assert segment.keys() >= SEGMENT_KEYS
            for one in segment["fits"]:
                assert one.keys() >= FIT_KEYS


def test_the_scene_s_clock_is_offset_by_the_reset_and_does_not_drift(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = as_json(capsys, "align", path("shared_cartpole_2env"))
    first = found["environments"][0]["segments"][0]
    assert first["native"] == [0, 52]
    assert first["why_it_ends"] == "reset"
    scene = fit(first, "scene")
    assert scene["slope_s_per_control_step"] == pytest.approx(0.04, abs=1e-9)
    assert scene["offset_s"] == pytest.approx(1e-5, abs=1e-9)
    assert scene["max_residual_s"] < 1e-9


def test_rewinds(capsys: pytest.CaptureFixture[str]) -> None:
    found = as_json(capsys, "align", path("restore_twice"))
    assert [r["native"] for r in found["rewinds"]] == [15, 30]
    for rewind in found["rewinds"]:
        assert rewind["scene_time_from_s"] == pytest.approx(0.3)
        assert rewind["scene_time_to_s"] == pytest.approx(0.0)


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "align", path("shared_cartpole_missed_restore"))
    assert "a missed restore" in out
    assert re.search(r"scene +0\.04 +1e-05 +0 ", out)
    out = printed(capsys, "align", path("restore_twice"))
    assert "Rewinds" in out
    assert "e-17" not in out


def test_m_may_be_given(capsys: pytest.CaptureFixture[str]) -> None:
    name = path("independent_cartpole_env0")
    bare = as_json(capsys, "align", name)["environments"][0]["segments"][0]
    assert fit(bare, "scene")["slope_s_per_control_step"] is None
    given = as_json(capsys, "align", name, "--substeps", "2")
    segment = given["environments"][0]["segments"][0]
    assert fit(segment, "scene")["slope_s_per_control_step"] == pytest.approx(0.04)
