"""Clocks that restart, skip, repeat and go back: nothing is sorted, all is told."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from isoscope.core.attribution.clocks import Clocks, Stream
from isoscope.core.attribution.stamps import (
    Gap,
    examine,
    fit_line,
    fit_slope,
    runs_through,
)
from isoscope.core.errors import UsageError

STEPS = 60
H_S, M = 0.02, 2


def three_clocks(
    seed: int = 0, dropped: int | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Control step k; the file's time k / 30 with 2 ms of jitter; the scene's."""
    k = np.arange(STEPS)
    if dropped is not None:
        k = np.delete(k, dropped)
    jitter = np.random.default_rng(seed).normal(0, 0.002, len(k))
    return k, k / 30 + jitter, 1e-5 + k * 0.04


def test_three_clocks_have_their_slopes_and_an_offset_is_no_drift() -> None:
    k, file_s, scene_s = three_clocks()
    scene = fit_line(k, scene_s)
    assert scene is not None
    assert scene.slope_s == pytest.approx(0.04, abs=1e-12)
    assert scene.offset_s == pytest.approx(1e-5, abs=1e-12)
    assert scene.jitter_s == scene.max_residual_s == 0.0
    file = fit_line(k, file_s)
    assert file is not None
    assert file.slope_s == pytest.approx(1 / 30, abs=1e-4)
    assert file.offset_s == pytest.approx(0, abs=2e-3)
    assert 0.001 < file.jitter_s < 0.004
    assert file.max_residual_s < 0.01


def test_a_dropped_control_step_is_a_gap_of_one() -> None:
    k, file_s, scene_s = three_clocks(dropped=20)
    for stamps, index in ((scene_s, k), (scene_s, None), (file_s, k)):
        (gap,) = examine(stamps, index).gaps
        assert (gap.at, gap.missing) == (20, 1)
    assert examine(scene_s, k).gaps[0].seconds == pytest.approx(0.08)
    fit = examine(scene_s, k).segments[0].fit
    assert fit is not None
    assert fit.slope_s == pytest.approx(0.04)


def test_the_same_row_from_any_clock() -> None:
    k, file_s, scene_s = three_clocks()
    # the physics takes two steps for each control step
    rows = np.arange(M * STEPS)
    native_scene = 1e-5 + (rows + 1) * H_S
    same = np.zeros(len(rows), np.int32)
    clocks = Clocks(
        {
            "native": rows.astype(float),
            "wall": np.repeat(file_s, M) + np.tile([0, 0.01], STEPS),
            "scene": native_scene,
            "control": (rows + 1) * H_S,
        },
        same,
        same + 1,
        (rows // M + 1).astype(np.int32),
        (rows % M).astype(np.int32),
    )
    for row in (0, 17, 64, 119):
        at = clocks.at(row)
        for name, value in at.items():
            assert row in clocks.rows_at(name, value).tolist()
            assert row in clocks.rows_at(name, value, env=0).tolist()
    assert clocks.rows_at("scene", 0.8).tolist() == [39]
    assert k[19] == 19
    assert scene_s[20] == pytest.approx(at_end(clocks, 39))


def at_end(clocks: Clocks, row: int) -> float:
    return clocks.at(row)["scene"]


def test_a_clock_that_restarts_in_every_episode_makes_segments() -> None:
    one = np.arange(10) / 30
    stamps = np.concatenate([one, one[:2], one])
    report = examine(stamps)
    assert [(s.start, s.stop) for s in report.segments] == [
        (0, 10),
        (10, 12),
        (12, 22),
    ]
    assert [s.why_it_ends for s in report.segments] == ["restart"] * 2 + ["end"]
    assert report.reorders == report.duplicates == ()
    assert report.gaps == ()


def test_one_stamp_a_little_early_is_a_reorder_and_no_segment() -> None:
    stamps = np.arange(50) / 30
    stamps[20] = stamps[19] - 0.003
    report = examine(stamps)
    assert len(report.segments) == 1
    assert report.reorders == (20,)
    swapped = np.arange(50) / 30
    swapped[[30, 31]] = swapped[[31, 30]]
    assert examine(swapped).reorders == (31,)
    assert len(examine(swapped).segments) == 1


def test_duplicates_are_kept_in_their_order() -> None:
    stamps = np.arange(30) / 30
    stamps[[10, 11]] = stamps[9]
    report = examine(stamps)
    assert report.duplicates == (10, 11)
    assert len(report.segments) == 1
    assert report.reorders == ()


def test_a_drop_of_26_seconds_begins_a_segment() -> None:
    stamps = 100 + np.arange(60) / 30
    stamps[40:] -= 26
    report = examine(stamps)
    assert [(s.start, s.stop) for s in report.segments] == [(0, 40), (40, 60)]
    assert report.reorders == ()
    for segment in report.segments:
        assert segment.fit is not None
        assert segment.fit.slope_s == pytest.approx(1 / 30)


def test_time_that_is_missing_without_numbers() -> None:
    stamps = np.arange(30) * 0.04
    stamps[12:] += 26
    (gap,) = examine(stamps).gaps
    assert gap == Gap(12, 650, pytest.approx(26.04))


def test_samples_without_a_stamp() -> None:
    stamps = np.arange(10) * 0.1
    stamps[[0, 4, 9]] = np.nan
    report = examine(stamps)
    assert report.unknown == (0, 4, 9)
    assert [(s.start, s.stop) for s in report.segments] == [(0, 10)]
    # counted through, the missing stamp is no missing sample
    assert examine(stamps, np.arange(10)).segments[0].fit is not None
    nothing = examine(np.full(3, np.nan))
    assert [(s.start, s.stop, s.fit) for s in nothing.segments] == [(0, 3, None)]
    assert examine(np.zeros(0)).segments == ()


@given(
    st.lists(st.floats(-1e3, 1e3) | st.just(float("nan")), max_size=60),
    st.booleans(),
)
@example([0.0, 1.0, -1e-191, 0.0, 1e-123], False)
@example([0.0, 1e3, 0.0, 5e-324], False)
def test_segments_cover_everything_once_whatever_the_stamps(
    stamps: list[float], counted: bool
) -> None:
    values = np.array(stamps, np.float64)
    index = np.arange(len(values)) if counted else None
    report = examine(values, index)
    covered = [k for s in report.segments for k in range(s.start, s.stop)]
    assert covered == list(range(len(values)))
    for segment in report.segments:
        inside = values[segment.start : segment.stop]
        inside = inside[np.isfinite(inside)]
        back = np.flatnonzero(np.diff(inside) < 0)
        assert len(back) <= len(report.reorders)


@given(
    st.floats(1e-3, 10),
    st.floats(-100, 100),
    st.integers(20, 300),
    st.integers(0, 1000),
)
def test_wild_stamps_do_no_harm_to_a_fit(
    slope: float, offset: float, count: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    k = np.arange(count)
    stamps = offset + slope * k
    wild = rng.choice(count, count // 12, replace=False)
    stamps[wild] += rng.normal(0, 50 * slope, len(wild))
    fit = fit_line(k, stamps)
    assert fit is not None
    assert fit.slope_s == pytest.approx(slope, rel=1e-9)
    assert fit.offset_s == pytest.approx(offset, abs=1e-6)


@given(
    st.lists(st.floats(-1e3, 1e3) | st.just(float("nan")), min_size=1, max_size=40),
    st.data(),
)
def test_a_slope_alone_is_that_of_the_whole_fit(
    stamps: list[float], data: st.DataObject
) -> None:
    index = data.draw(
        st.lists(st.integers(-5, 50), min_size=len(stamps), max_size=len(stamps))
    )
    whole = fit_line(np.array(index), np.array(stamps))
    alone = fit_slope(np.array(index), np.array(stamps))
    assert alone == (None if whole is None else whole.slope_s)


def test_a_fit_is_made_of_medians_whatever_the_count() -> None:
    rng = np.random.default_rng(0)
    for count in (2, 3, 10, 11, 8191, 8192, 9001):
        k = np.arange(count)
        stamps = 5 + k * 0.02 + rng.normal(0, 1e-3, count)
        fit = fit_line(k, stamps)
        assert fit is not None
        rest = stamps - fit.slope_s * k
        assert fit.offset_s == np.median(rest)
        away = np.abs(rest - fit.offset_s)
        assert fit.max_residual_s == pytest.approx(away.max(), abs=1e-12)
        assert fit.jitter_s == pytest.approx(1.4826 * np.median(away), abs=1e-12)


@given(
    st.lists(st.sampled_from([1, 1, 1, 1, 0, -1, 3]), max_size=12),
    st.lists(st.sampled_from([0.1, 0.1, 0.1, 0.0, -0.1, float("nan")]), max_size=12),
)
def test_where_a_clock_runs_through_there_is_nothing_to_tell(
    ahead: list[int], later: list[float]
) -> None:
    count = min(len(ahead), len(later))
    index = np.cumsum(np.array([1, *ahead[:count]]))
    stamps = np.cumsum(np.array([0.5, *later[:count]]))
    report = examine(stamps, index)
    told = report.gaps or report.duplicates or report.reorders or report.unknown
    nothing = not told and len(report.segments) == 1
    if runs_through(stamps, index):
        assert nothing
    elif nothing:
        # an index that repeats is nothing to tell of the stamps
        assert (np.diff(index) == 0).any()


def test_too_little_to_fit() -> None:
    assert fit_line(np.array([3]), np.array([1.0])) is None
    assert fit_line(np.array([3, 3]), np.array([1.0, 2.0])) is None
    assert fit_line(np.array([3, 4]), np.array([1.0, np.nan])) is None
    two = fit_line(np.array([3, 5]), np.array([1.0, 2.0]))
    assert two is not None
    assert two.slope_s == 0.5


# -- streams that are sampled beside the steps ----------------------------------------


def _clocks(rows: int = 100) -> Clocks:
    none = np.full(rows, -1, np.int32)
    wall = 10 + np.arange(rows) * 0.02
    scene = np.tile(np.arange(rows // 2) * 0.02, 2)
    return Clocks({"wall": wall, "scene": scene}, none, none, none, none)


def test_a_camera_is_laid_beside_the_steps_by_its_capture_ids() -> None:
    clocks = _clocks()
    stamps = 9.99 + np.arange(20) * 0.1
    ids = np.arange(20)
    ids[8:] += 2  # two frames were dropped
    ids[12] = ids[11]  # one was stamped again
    found = clocks.lay(Stream("camera", "wall", stamps, ids))
    assert found.rows[:3].tolist() == [-1, 4, 9]
    assert found.late_s[1] == pytest.approx(0.01)
    assert np.isnan(found.late_s[0])
    assert found.restamped == (12,)
    assert found.dropped == ((8, 2), (13, 1))


def test_a_stream_needs_a_clock_that_runs_through() -> None:
    clocks = _clocks()
    with pytest.raises(UsageError, match="goes back"):
        clocks.lay(Stream("camera", "scene", np.array([0.1])))
    with pytest.raises(UsageError, match="no clock 'sun'"):
        clocks.lay(Stream("camera", "sun", np.array([0.1])))
    with pytest.raises(UsageError, match="no clock 'sun'"):
        clocks.rows_at("sun", 0.0)
    with pytest.raises(UsageError, match="no native step 100"):
        clocks.at(100)


def test_one_value_of_the_scene_time_names_a_row_of_each_episode() -> None:
    clocks = _clocks()
    clocks.env[:] = 0
    assert clocks.rows_at("scene", 0.2).tolist() == [10, 60]
    assert clocks.rows_at("scene", 0.2, env=0).tolist() == [10, 60]
    assert clocks.rows_at("scene", 0.2, env=3).tolist() == []
    # nowhere near: the nearest row there is
    assert clocks.rows_at("scene", 99.0).tolist() == [49]
