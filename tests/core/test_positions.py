from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.core.errors import PositionError
from isoscope.core.positions import (
    ChunkPosition,
    ControlPosition,
    EventPosition,
    FindingPosition,
    NativePosition,
    Position,
    TimePosition,
    WallPosition,
    format_position,
    parse_position,
    resolve_position,
)
from isoscope.core.recording.model import Labels, Recording

whole = st.integers(0, 10**18 - 1)
positions: st.SearchStrategy[Position] = st.one_of(
    whole.map(NativePosition),
    st.builds(
        ControlPosition, st.one_of(st.none(), whole), st.integers(1, 10**18 - 1), whole
    ),
    st.builds(
        TimePosition,
        st.sampled_from(["recording", "scene", "control"]),
        st.floats(0, allow_infinity=False),
    ),
    st.datetimes(
        timezones=st.one_of(
            st.none(),
            st.integers(-1439, 1439).map(lambda m: timezone(timedelta(minutes=m))),
        )
    ).map(WallPosition),
    st.builds(
        ChunkPosition, whole, whole, whole, whole, whole, st.one_of(st.none(), whole)
    ),
    whole.map(EventPosition),
    st.integers(1, 10**18 - 1).map(FindingPosition),
)


@given(positions)
def test_what_is_written_is_read_back(position: Position) -> None:
    assert parse_position(format_position(position)) == position


@given(st.text())
def test_any_text_is_a_position_or_refused_in_one_line(text: str) -> None:
    said = ""
    try:
        position = parse_position(text)
    except PositionError as error:
        said = str(error)
    else:
        assert parse_position(format_position(position)) == position
    assert "\n" not in said


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("native:0", NativePosition(0)),
        (" native:120 ", NativePosition(120)),
        ("control:2/1/9", ControlPosition(2, 1, 9)),
        ("control:1/0", ControlPosition(None, 1, 0)),
        ("time:recording=1.25", TimePosition("recording", 1.25)),
        ("time:scene=1e-5", TimePosition("scene", 1e-5)),
        ("time:control=.04", TimePosition("control", 0.04)),
        (
            "time:wall=2026-11-30T14:05:09Z",
            WallPosition(datetime(2026, 11, 30, 14, 5, 9, tzinfo=UTC)),
        ),
        ("chunk:4.0.1.0.7", ChunkPosition(4, 0, 1, 0, 7)),
        ("chunk:4.0.1.0.7/3", ChunkPosition(4, 0, 1, 0, 7, 3)),
        ("event:63", EventPosition(63)),
        ("finding:2", FindingPosition(2)),
    ],
)
def test_each_form_is_read(text: str, position: Position) -> None:
    assert parse_position(text) == position


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is no position"),
        ("12", "did you mean native:12?"),
        ("step:12", "is no position; it is native:N"),
        ("native:", "the native step is a whole number from 0, not nothing"),
        ("native:-1", "the native step is a whole number"),
        ("native:1_000", "the native step is a whole number"),
        ("native:١٢", "the native step is a whole number"),
        ("native:" + "9" * 60, "the native step is a whole number"),
        ("native:1.5", "the native step is a whole number"),
        ("control:9", "control:EPISODE/K or control:ENV/EPISODE/K"),
        ("control:0/0/0", "the episode counts from 1, not from 0"),
        ("control:a/1/2", "the environment is a whole number from 0, not 'a'"),
        ("control:1/2/3/4", "control:EPISODE/K"),
        ("time:1.5", "time:recording=S"),
        ("time:lunch=1", "time:recording=S"),
        ("time:scene=nan", "a number of seconds from 0, not 'nan'"),
        ("time:scene=inf", "a number of seconds from 0"),
        ("time:scene=-1", "a number of seconds from 0"),
        ("time:scene=1e999", "no time"),
        ("time:wall=yesterday", "ISO 8601"),
        ("chunk:1.2.3", "chunk:STEP.EPOCH.RANK.STAGE.CHUNK"),
        ("chunk:1.2.3.4.x", "the chunk is a whole number"),
        ("chunk:1.2.3.4.5/", "the slot is a whole number from 0, not nothing"),
        ("event:first", "the event is a whole number"),
        ("finding:", "the finding is a whole number from 1"),
        ("finding:0", "the finding counts from 1, not from 0"),
        ("n" * 5000, "5000 characters are too many"),
        ("native:1\n2", "the native step is a whole number"),
    ],
)
def test_what_is_wrong_is_said(text: str, said: str) -> None:
    with pytest.raises(PositionError) as caught:
        parse_position(text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


# -- resolving -------------------------------------------------------------------------


def recording_of(
    scene_time_s: list[float] | None = None, rows: int = 6, complete: bool = True
) -> Recording:
    """Steps of 0.02 s written as the file's events 2, 3, 5, 6, 8, 9, …"""
    recording = Recording(None, "test", complete=complete)
    h = np.full(rows, 0.02)
    events = np.array([2 + 3 * (r // 2) + r % 2 for r in range(rows)])
    scene = None if scene_time_s is None else np.array(scene_time_s)
    recording.steps.append(events, np.cumsum(h), h, np.zeros((rows, 3)), scene)
    return recording


def labels_of(*steps: tuple[int, int, int, int]) -> Labels:
    """Labels from (env, episode, control step, substep) of each row."""
    labels = Labels.unknown(len(steps))
    table = np.array(steps, np.int32)
    labels.env, labels.episode, labels.control_step, labels.substep = table.T
    return labels


def test_a_native_step_is_its_row() -> None:
    assert resolve_position(recording_of(), NativePosition(5)).row == 5
    with pytest.raises(PositionError, match=r"native:6 in live: .* from 0 to 5$"):
        resolve_position(recording_of(), NativePosition(6))
    with pytest.raises(PositionError, match="from 0 to 5 so far"):
        resolve_position(recording_of(complete=False), NativePosition(6))


def test_an_event_that_is_no_step_is_the_next_step() -> None:
    recording = recording_of()
    assert resolve_position(recording, EventPosition(5)).row == 2
    found = resolve_position(recording, EventPosition(4))
    assert (found.row, found.said) == (
        2,
        "event 4 is no step; the next one is event 5",
    )
    assert resolve_position(recording, EventPosition(0)).row == 0
    with pytest.raises(PositionError, match="its last step is event 9"):
        resolve_position(recording, EventPosition(10))


def test_a_time_is_the_nearest_step() -> None:
    recording = recording_of()
    found = resolve_position(recording, TimePosition("recording", 0.06))
    assert (found.row, found.said) == (2, "")
    found = resolve_position(recording, TimePosition("recording", 0.065))
    assert (found.row, found.said) == (2, "the nearest native step is 2, at 0.06 s")
    assert resolve_position(recording, TimePosition("recording", 0.0)).row == 0
    assert resolve_position(recording, TimePosition("recording", 0.125)).row == 5
    with pytest.raises(PositionError, match=r"goes from 0.02 s to 0.12 s$"):
        resolve_position(recording, TimePosition("recording", 0.2))


def test_a_growing_recording_does_not_guess_beyond_its_rows() -> None:
    recording = recording_of(complete=False)
    with pytest.raises(PositionError, match="so far"):
        resolve_position(recording, TimePosition("recording", 0.125))


def test_of_several_steps_at_one_scene_time_the_first_is_taken() -> None:
    rewound = [0.02, 0.04, float("nan"), 0.02, 0.04, 0.06]
    found = resolve_position(recording_of(rewound), TimePosition("scene", 0.04))
    assert found.row == 1
    assert found.said == (
        "2 native steps are at scene time 0.04 s; the first one, 1, is taken"
    )


def test_a_clock_that_the_recording_does_not_hold_is_said() -> None:
    recording = recording_of()
    with pytest.raises(PositionError, match="does not hold the scene's own time"):
        resolve_position(recording, TimePosition("scene", 0.04))
    with pytest.raises(PositionError, match="nothing says which control step"):
        resolve_position(recording, TimePosition("control", 0.04))
    with pytest.raises(PositionError, match="does not hold the computer's time"):
        resolve_position(recording, WallPosition(datetime(2026, 1, 1, tzinfo=UTC)))


def test_a_clock_that_is_given_is_used() -> None:
    recording = recording_of()
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    wall = begin.timestamp() + np.arange(7) * 0.5  # one row ahead of the recording
    times = {"wall": wall, "control": np.array([0, 0.04, 0.04, 0, 0.04, 0.08])}
    at = WallPosition(begin + timedelta(seconds=1.0))
    assert resolve_position(recording, at, times=times).row == 2
    found = resolve_position(recording, TimePosition("control", 0.08), times=times)
    assert found.row == 5
    late = WallPosition(begin + timedelta(seconds=3.0))
    with pytest.raises(PositionError, match="its wall time goes from 20"):
        resolve_position(recording, late, times=times)


def test_a_control_step_is_its_last_substep() -> None:
    labels = labels_of(
        (0, 1, 0, 0),
        (1, 1, 0, 0),
        (0, 1, 1, 0),
        (0, 1, 1, 1),
        (1, 1, 1, 0),
        (1, 1, 1, 1),
    )
    recording = recording_of()
    found = resolve_position(recording, ControlPosition(0, 1, 1), labels=labels)
    assert (found.row, found.said) == (3, "")
    recording.labels = labels
    assert resolve_position(recording, ControlPosition(1, 1, 1)).row == 5
    assert resolve_position(recording, ControlPosition(1, 1, 0)).row == 1


def test_without_an_environment_the_first_one_shown_is_taken_and_said() -> None:
    labels = labels_of(
        (1, 1, 1, 0), (1, 1, 1, 1), (0, 1, 1, 0), (0, 1, 1, 1), (0, 2, 1, 0), (-1,) * 4
    )
    recording = recording_of()
    anyone = ControlPosition(None, 1, 1)
    found = resolve_position(recording, anyone, labels=labels)
    assert found.row == 3
    assert found.said == (
        "2 environments have this control step; environment 0 is taken"
    )
    found = resolve_position(recording, anyone, labels=labels, shown=[7, 1, 0])
    assert found.row == 1
    found = resolve_position(recording, ControlPosition(None, 2, 1), labels=labels)
    assert (found.row, found.said) == (4, "environment 0 is taken")


def test_a_control_step_taken_twice_is_the_first_of_them_and_said() -> None:
    stepped_again = labels_of(
        (0, 1, 1, 0),
        (0, 1, 1, 1),
        (0, 1, 2, 0),
        (0, 1, 2, 1),
        (0, 1, 1, 0),
        (0, 1, 1, 1),
    )
    at_once = labels_of(
        (0, 1, 1, 0),
        (0, 1, 1, 1),
        (0, 1, 1, 0),
        (0, 1, 1, 1),
        (0, 1, 2, 0),
        (0, 1, 2, 1),
    )
    for labels in (stepped_again, at_once):
        found = resolve_position(
            recording_of(), ControlPosition(0, 1, 1), labels=labels
        )
        assert found.row == 1
        assert "stepped 2 times" in found.said
    unknown_substeps = labels_of(*[(0, 1, k, -1) for k in (1, 1, 1, 2, 2, 1)])
    found = resolve_position(
        recording_of(), ControlPosition(0, 1, 1), labels=unknown_substeps
    )
    assert found.row == 2
    assert "stepped 2 times" in found.said


@pytest.mark.parametrize(
    ("position", "said"),
    [
        (ControlPosition(9, 1, 1), "its environments are 0 and 1"),
        (ControlPosition(0, 9, 1), "its episodes of environment 0 are 1"),
        (ControlPosition(None, 9, 1), "its episodes are 1 and 2"),
        (ControlPosition(0, 1, 9), "the control steps of that episode are 0 to 2"),
    ],
)
def test_a_control_step_that_is_not_there_is_told_with_what_is(
    position: ControlPosition, said: str
) -> None:
    labels = labels_of(
        (0, 1, 0, 0), (0, 1, 1, 0), (0, 1, 2, 0), (1, 1, 0, 0), (1, 2, 0, 0), (-1,) * 4
    )
    with pytest.raises(PositionError, match=said):
        resolve_position(recording_of(), position, labels=labels)


def test_without_labels_a_control_step_can_not_be_found() -> None:
    for labels in (None, Labels.unknown(6)):
        with pytest.raises(PositionError, match="nothing says which control step"):
            resolve_position(recording_of(), ControlPosition(None, 1, 1), labels=labels)


def test_findings_and_chunks_that_are_not_there_are_said() -> None:
    recording = recording_of()
    assert resolve_position(recording, FindingPosition(2), findings=[0, 4]).row == 4
    for number, findings, said in (
        (1, None, "no list of findings"),
        (1, [], "no findings"),
        (3, [0, 4], "from 1 to 2"),
        (1, [None], "about no native step"),
    ):
        with pytest.raises(PositionError, match=said):
            resolve_position(recording, FindingPosition(number), findings=findings)
    with pytest.raises(PositionError, match="no chunks"):
        resolve_position(recording, ChunkPosition(0, 0, 0, 0, 0))


def test_an_empty_recording_has_no_position() -> None:
    for complete in (True, False):
        recording = Recording(None, "test", complete=complete)
        with pytest.raises(PositionError, match="no native step"):
            resolve_position(recording, NativePosition(0))
