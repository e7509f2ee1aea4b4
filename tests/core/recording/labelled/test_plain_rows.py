"""Environments that tell no native steps: their control steps are the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.app.main import main as isoscope
from isoscope.core.attribution.attributor import attribute
from isoscope.core.dump import dump
from isoscope.core.errors import UsageError
from isoscope.core.growing_axes import GrowingAxes
from isoscope.core.isolation.audit import audit
from isoscope.core.isolation.context import Context, Examined
from isoscope.core.isolation.sentence import what_it_is
from isoscope.core.recording import registry
from isoscope.core.recording.info import info
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.reader import LabelledSource
from isoscope.core.recording.labelled.recorder import Recorder
from isoscope.core.recording.model import StepKind
from isoscope.core.summary import summarize
from isoscope.core.timeaxis import TimeKind
from isoscope.core.timeline.describe import describe_row
from isoscope.core.timeline.lanes import timeline_of

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.recording.labelled.frames import Frame

ENVS, EPISODE = 2, 3
SECOND_NS = 1_000_000_000


def step(recorder: Recorder, frame: Frame, k: int) -> None:
    """Control step k of a run of both environments in turn, resets among them."""
    turn, env = divmod(k, ENVS)
    episode, control_step = divmod(turn, EPISODE + 1)
    told = r.Transition(
        env=env,
        episode=episode + 1,
        control_step=control_step,
        reward=float(turn) if control_step else np.nan,
        valid=int(control_step > 0),
        wall_ns=(k + 1) * SECOND_NS,
    )
    frame.put(0, (k, -k))
    recorder.transition(told, frame)


def begun(path: Path) -> tuple[Recorder, Frame]:
    recorder = Recorder(path, r.Identity())
    observation = r.Field(name="value", shape=(2,), unit="m", group="observation_after")
    return recorder, recorder.frame([observation], "f4", over="transitions")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    out = tmp_path / "plain.isoscope.h5"
    recorder, frame = begun(out)
    for k in range(20):
        step(recorder, frame, k)
    recorder.close()
    return out


def test_each_control_step_is_a_row(path: Path) -> None:
    recording = registry.load(path)
    labels = recording.labels
    assert len(recording) == 20
    assert labels is not None
    assert labels.env.tolist() == [0, 1] * 10
    turns = np.arange(20) // 2
    assert labels.episode.tolist() == (turns // 4 + 1).tolist()
    assert labels.control_step.tolist() == (turns % 4).tolist()
    resets = labels.kind == StepKind.RESET
    assert resets.tolist() == (turns % 4 == 0).tolist()
    assert set(labels.kind[~resets].tolist()) == {StepKind.UNKNOWN}
    assert set(labels.substep.tolist()) == {-1}
    # Nothing below them is known: that is absent, not zero.
    for told in (recording.steps.h_s, recording.steps.time_s):
        assert np.isnan(told).all()
    assert recording.wall_s is not None
    assert recording.wall_s.tolist() == [float(k + 1) for k in range(20)]
    assert "timeStep" not in recording.scene.tracks


def test_what_goes_with_a_control_step_is_in_its_row(path: Path) -> None:
    tracks = registry.load(path).control.tracks
    reward = tracks["reward"].read(0, 20)
    turns = np.arange(20) // 2
    assert reward.valid.tolist() == (turns % 4 != 0).tolist()
    assert reward.values[reward.valid].tolist() == turns[reward.valid].tolist()
    seen = tracks["observation_after/value"].read(5, 8)
    assert seen.values.tolist() == [[5, -5], [6, -6], [7, -7]]
    assert not tracks["reward"].read(18, 22).valid[2:].any()


def test_they_are_called_what_they_are(path: Path) -> None:
    recording = registry.load(path)
    assert summarize(recording).startswith("20 control steps")
    assert "bare" not in summarize(recording)
    told = info(recording)
    assert told.steps == 0
    assert told.supports.attribution.answer == "yes"
    assert told.supports.playback.reason == "its environments told no actor's state"


def test_attribution_and_audit_take_them_as_they_are(path: Path) -> None:
    recording = registry.load(path)
    attribution = attribute(recording)
    assert attribution.labels.env.tolist() == [0, 1] * 10
    assert audit(Context(Examined(recording, attribution))).findings == []


def test_words_are_of_control_steps(path: Path) -> None:
    source = LabelledSource(path)
    source.index()
    recording = source.recording
    said = what_it_is(recording, attribute(recording))
    assert said == f"2 environments, 6 episodes, {len(recording)} control steps."
    made = timeline_of(recording)
    assert made.row_is == "control step"
    lanes = {lane.key: (lane.label, lane.about) for lane in made.lanes}
    assert lanes["steps"][0] == "control steps"
    assert lanes["owner"] == (
        "taken by",
        "who took each control step; hatched where unknown",
    )
    axis = GrowingAxes().axes(recording.steps, np.zeros(0), None, None)[0]
    assert describe_row(recording, made, 2, axis)[0] == "row 2"


def test_the_only_time_to_play_over_is_by_rows(path: Path) -> None:
    steps = registry.load(path).steps
    # A reset is at zero control time, whatever a control step lasts.
    control_s = np.where(np.arange(20) // 2 % 4 == 0, 0.0, np.nan)
    axes = GrowingAxes().axes(steps, control_s)
    assert [axis.kind for axis in axes] == [TimeKind.NATIVE]


def test_they_come_as_a_run_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "live.isoscope.h5"
    recorder, frame = begun(path)
    recorder.flush(10.0)
    source = LabelledSource(path)
    source.index()
    assert len(source.recording) == 0
    count = 0
    for upto in (7, 12):
        for k in range(count, upto):
            step(recorder, frame, k)
        recorder.flush(10.0)
        count = upto
        assert source.refresh()
        assert len(source.recording) == upto
        assert source.recording.row_is == "control step"
        values = source.recording.control.tracks["reward"].read(0, upto).values
        assert values[upto - 1] == (upto - 1) // 2
    picture = source.preview(3)
    assert picture is not None
    assert len(picture) == 1
    recorder.close()
    source.close()


def test_where_native_steps_are_told_they_are_the_rows(tmp_path: Path) -> None:
    path = tmp_path / "mixed.isoscope.h5"
    recorder, frame = begun(path)
    for k in range(6):
        step(recorder, frame, k)
    for _ in range(3):
        recorder.native(r.NativeStep(env=0, episode=1, control_step=1, h_s=0.01))
    recorder.close()
    recording = registry.load(path)
    assert len(recording) == 3
    assert recording.row_is == "native step"
    assert not recording.control.tracks["reward"].read(0, 3).valid.any()


def test_what_goes_with_them_is_written_to_a_file(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "reward.npz"
    done = dump(registry.load(path), "reward", out)
    assert (done.start, done.stop, done.present) == (0, 20, 14)
    with np.load(out) as file:
        turns = np.arange(20) // 2
        there = turns % 4 != 0
        assert file["valid"].tolist() == there.tolist()
        assert file["value"][there].tolist() == turns[there].tolist()
    with pytest.raises(UsageError, match="they have observation_after/value, reward"):
        dump(registry.load(path), "gravity", tmp_path / "none.npz")


def test_a_repair_says_how_many_were_saved(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "fixed.isoscope.h5"
    assert isoscope(["repair", str(path), "--out", str(out)]) == 0
    assert "saved 20 control steps to" in "".join(capsys.readouterr())
    assert len(registry.load(out)) == 20
