"""Reading: while it is written, several scenes in one file, and lazily."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isoscope.core.attribution.attributor import attribute
from isoscope.core.dump import dump
from isoscope.core.errors import ReadError, UsageError
from isoscope.core.recording import registry
from isoscope.core.recording.info import info
from isoscope.core.recording.labelled import reader
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.labelled import Key
from isoscope.core.recording.labelled.reader import LabelledSource
from isoscope.core.recording.labelled.recorder import Recorder

if TYPE_CHECKING:
    from pathlib import Path


class Growing:
    """A recording that tests add rows to: two scenes in turn, an actor in each."""

    def __init__(self, path: Path) -> None:
        self.recorder = Recorder(path, r.Identity(engine="none", substeps=2))
        self.frames = []
        self.row = 0
        for scene in range(2):
            self.recorder.scene(r.SceneInfo(id=scene, environments=[scene]))
            self.add_actor(scene)

    def add_actor(self, scene: int) -> None:
        actor = self.recorder.actor(
            r.ActorInfo(
                name=f"body{len(self.frames)}",
                type="Rigid",
                handle=len(self.frames),
                scene=scene,
                created_row=self.row,
                reference={"surfRefPositions": np.eye(3)},
            )
        )
        fields = [r.Field(name="translationCom", shape=(3,), unit="m", actor=actor)]
        self.frames.append((scene, self.recorder.frame(fields, "f4", scene=scene)))

    def step(self, rows: int) -> None:
        for _ in range(rows):
            scene = self.row % 2
            mine = [frame for at, frame in self.frames if at == scene]
            for frame in mine:
                frame.put(0, (self.row, scene, 1))
            turn = self.row // 2
            step = r.NativeStep(
                env=scene,
                episode=1,
                control_step=1 + turn // 2,
                substep=turn % 2,
                kind=0,
                scene=scene,
                h_s=0.25,
                scene_time_s=0.25 * (turn + 1),
            )
            assert self.recorder.native(step, *mine) == self.row
            self.row += 1
        assert self.recorder.flush()


def test_following_a_recording_that_grows(tmp_path: Path) -> None:
    path = tmp_path / "run.isoscope.h5"
    growing = Growing(path)
    source = registry.open_source(path)
    assert isinstance(source, LabelledSource)
    source.index()
    recording = source.recording
    assert len(recording) == 0
    for rows in (3, 2000, 1, 4000):
        growing.step(rows)
        if rows == 1:
            growing.add_actor(1)
            growing.recorder.destroyed(0, growing.row)
        assert source.refresh()
        assert source.recording is recording
        assert len(recording) == growing.row
        assert not recording.complete
        assert "still writing it" in str(recording.problems)
        track = recording.actors[1].fields["translationCom"]
        window = track.read(0, len(recording))
        assert np.flatnonzero(window.valid).tolist() == list(range(1, growing.row, 2))
        np.testing.assert_array_equal(
            window.values[1::2, 0], np.arange(growing.row)[1::2]
        )
        np.testing.assert_array_equal(recording.steps.event, np.arange(growing.row))
    assert not source.refresh()
    assert len(recording.actors) == 3
    assert recording.actors[0].destroyed_native == 2004
    late = recording.actors[2]
    assert late.created_native == 2004
    assert late.fields["translationCom"].present_count() == 2000
    growing.recorder.close()
    source.refresh()
    assert recording.complete
    assert recording.problems == []
    source.close()
    # What is read now comes from the file that its writer made in the end.
    np.testing.assert_array_equal(
        recording.actors[0].fields["translationCom"].read(10, 11).values[0], [10, 0, 1]
    )


def test_a_writer_that_dies_is_noticed(tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "run.isoscope.h5"
    growing = Growing(path)
    growing.step(10)
    source = registry.open_source(path)
    assert isinstance(source, LabelledSource)
    source.index()
    monkeypatch.setattr(
        "isoscope.core.recording.labelled.reader.writer_of", lambda *_, **__: None
    )
    source.refresh()
    source.refresh()
    assert "its writer died" in str(source.recording.problems)
    source.close()
    growing.recorder.close()


def test_several_scenes_in_one_step_table(tmp_path: Path) -> None:
    path = tmp_path / "run.isoscope.h5"
    growing = Growing(path)
    growing.step(40)
    growing.recorder.close()
    recording = registry.load(path)
    steps = recording.steps
    # One clock for all rows; each scene's own beside it.
    np.testing.assert_allclose(steps.time_s, 0.25 * np.arange(1, 41))
    np.testing.assert_allclose(steps.scene_time_s[::2], 0.25 * np.arange(1, 21))
    assert recording.scene["scene"].read(0, 3).values.tolist() == [0, 1, 0]
    assert recording.labelled is not None
    assert [a.info.scene for a in recording.labelled.actors.values()] == [0, 1]
    even = recording.actors[0].fields["translationCom"]
    assert [even.present(row) for row in range(4)] == [True, False, True, False]
    found = attribute(recording)
    assert found.labels.env.tolist() == [0, 1] * 20
    assert found.substeps == 2
    assert found.environments == 2
    assert found.episodes == 2
    assert found.linked.all()


def test_limits_that_are_infinite(tmp_path: Path) -> None:
    """JSON has none: a field with them is not lost."""
    path, none = tmp_path / "run.isoscope.h5", float("inf")
    with Recorder(path, r.Identity()) as recorder:
        told = r.Field(
            name="target", shape=(2,), low=(-none, -1.0), high=(none, 1.0), actor=-1
        )
        frame = recorder.frame([told], "f8")
        frame.put(0, np.array([3.0, 0.5]))
        recorder.native(r.NativeStep(env=0, h_s=1.0), frame)
    recording = registry.load(path)
    assert recording.problems == []
    assert recording.labelled is not None
    [track] = recording.labelled.fields.values()
    assert (track.field.low, track.field.high) == ((-none, -1.0), (none, 1.0))
    assert track.read(0, 1).values.tolist() == [[3.0, 0.5]]


def test_actors_that_share_name_and_handle_are_told_apart(tmp_path: Path) -> None:
    """As scenes of several worker processes do."""
    path = tmp_path / "run.isoscope.h5"
    with Recorder(path, r.Identity()) as recorder:
        for scene in range(2):
            about = r.ActorInfo(name="Cart", type="Rigid", handle=7, scene=scene)
            cart = recorder.actor(about)
            frame = recorder.frame([r.Field(name="x", actor=cart)], "f8")
            frame.put(0, float(scene))
            recorder.native(r.NativeStep(env=scene, scene=scene, h_s=1.0), frame)
    recording = registry.load(path)
    (second,) = recording.find_actors("Cart#2")
    assert second is recording.find_actors("Cart")[1]
    out = tmp_path / "x.npz"
    dump(recording, "x", out, actor="Cart#2")
    assert np.load(out)["valid"].tolist() == [False, True]
    with pytest.raises(UsageError, match="give Cart#1 to Cart#2"):
        dump(recording, "x", tmp_path / "y.npz", actor="Cart")
    with pytest.raises(UsageError, match="no actor named 'Cart#3'"):
        dump(recording, "x", tmp_path / "y.npz", actor="Cart#3")


def test_the_preview_is_a_row_of_the_index(tmp_path: Path) -> None:
    path = tmp_path / "run.isoscope.h5"
    growing = Growing(path)
    growing.step(4)
    growing.recorder.close()
    source = registry.open_source(path)
    picture = source.preview(2)
    assert picture is not None
    assert len(picture) == 1
    value = picture.actors[0].fields["translationCom"].at(0)
    assert value is not None
    assert value.tolist() == [2, 0, 1]
    assert picture.actors[1].fields["translationCom"].at(0) is None
    np.testing.assert_array_equal(
        picture.actors[0].reference["surfRefPositions"], np.eye(3)
    )
    assert source.preview(4) is None
    source.close()


def test_values_are_read_when_they_are_needed(tmp_path: Path) -> None:
    path = tmp_path / "run.isoscope.h5"
    growing = Growing(path)
    growing.step(3000)
    growing.recorder.close()
    recording = registry.load(path)
    track = recording.actors[0].fields["translationCom"]
    held = track.nbytes
    assert held < 100
    window = track.read(2000, 2004)
    np.testing.assert_array_equal(window.values[window.valid][:, 0], [2000, 2002])
    assert track.nbytes == held
    assert len(track) == 3000
    assert track.present_count() == 1500
    # Something else lies there now: the old recording says so, and shows nothing of it.
    fresh = registry.load(path)
    path.unlink()
    other = Growing(path)
    other.step(2)
    other.recorder.close()
    with pytest.raises(ReadError, match="another recording"):
        fresh.actors[0].fields["translationCom"].read(0, 10)


def test_a_field_that_changes_its_form_is_kept_apart(tmp_path: Path) -> None:
    path = tmp_path / "run.isoscope.h5"
    with Recorder(path, r.Identity()) as recorder:
        for dtype, shape in (("f4", (2,)), ("f4", (2,)), ("f8", (2,)), ("f4", (3,))):
            frame = recorder.frame([r.Field(name="x", shape=shape)], dtype)
            frame.put(0, np.ones(shape))
            recorder.native(r.NativeStep(), frame)
    scene = registry.load(path).scene
    present = {
        name: [scene[name].present(row) for row in range(4)]
        for name in ("x", "x#2", "x#3")
    }
    assert present["x"] == [True, True, False, False]
    assert present["x#2"] == [False, False, True, False]
    assert present["x#3"] == [False, False, False, True]


def test_forms_that_take_turns_stay_together_and_names_apart(tmp_path: Path) -> None:
    path = tmp_path / "run.isoscope.h5"
    forms: list[tuple[int, tuple[str, ...]]]
    forms = [(3, ()), (2, ()), (2, ("a", "b"))] * 3  # of three kinds of environments
    with Recorder(path, r.Identity()) as recorder:
        for size, names in forms:
            field = r.Field(name="x", shape=(size,), names=names)
            frame = recorder.frame([field], "f4")
            frame.put(0, np.ones(size))
            recorder.native(r.NativeStep(), frame)
    scene = registry.load(path).scene
    assert "x#4" not in scene.tracks
    for k, name in enumerate(("x", "x#2", "x#3")):
        track = scene.tracks[name]
        assert np.flatnonzero(track.read(0, 9).valid).tolist() == [k, k + 3, k + 6]
        assert track.field.names == forms[k][1]


def test_transitions_and_what_it_says_of_itself(tmp_path: Path) -> None:
    path = tmp_path / "run.isoscope.h5"
    with Recorder(path, r.Identity(engine="superdex", engine_version="1.0.1")) as rec:
        vectors = rec.frame(
            [
                r.Field(name="action", shape=(2,), group="action"),
                r.Field(name="upright", group="reward_term"),
                r.Field(name="phase", group="task_state"),
            ],
            "f4",
            over="transitions",
        )
        force = r.Field(name="force", group="control", actor=0, unit="N", low=(-3,))
        rec.actor(r.ActorInfo(name="Cart", type="Rigid"))
        applied = rec.frame([force], "f8")
        applied.put(0, 2.5)
        rec.native(r.NativeStep(env=0, kind=0), applied)
        vectors.put(0, (1, 2))
        vectors.put(2, 7)
        done = r.Transition(env=0, terminated=1, truncated=0, valid=1, first_row=0)
        rec.transition(done, vectors)
        rec.snapshot(r.Snapshot(b"state", row=0))
    recording = registry.load(path)
    labelled = recording.labelled
    assert labelled is not None
    assert labelled.names("reward_term") == ["upright"]
    assert labelled.track("transitions", "reward_term", "upright").at(0) is None
    assert labelled.track("transitions", "task_state", "phase").at(0) == 7
    action = labelled.track("transitions", "action", "action").at(0)
    assert action is not None
    assert action.tolist() == [1, 2]
    assert recording.actors[0].fields["control/force"].at(0) == 2.5
    assert labelled.fields[Key("native", "control", 0, "force")].field.unit == "N"  # type: ignore[union-attr]
    said = info(recording)
    assert said.labels.actions
    assert said.labels.snapshots
    assert said.supports.bitwise.answer == "yes"
    assert said.supports.transitions.answer == "yes"


def test_info_says_the_units_that_were_recorded(tmp_path: Path) -> None:
    path = tmp_path / "run.isoscope.h5"
    recorder = Recorder(path, r.Identity(engine="none"))
    actor = recorder.actor(r.ActorInfo(name="cart", type="Rigid", handle=1))
    force = r.Field(
        name="force", shape=(2,), unit="N or N·m", group="control", actor=actor
    )
    plain = r.Field(name="omega", shape=(3,), actor=actor)
    frame = recorder.frame([force, plain], "f8")
    frame.put(0, (1.0, 2.0))
    frame.put(1, (0.0, 0.0, 0.0))
    recorder.native(r.NativeStep(env=0, episode=1, control_step=1, h_s=0.01), frame)
    recorder.close()
    source = LabelledSource(path)
    source.index()
    (told,) = info(source.recording).actors
    units = {field.name: field.unit for field in told.fields}
    assert units == {"control/force": "N or N·m", "omega": "rad/s"}
    source.close()


def test_a_writer_is_not_searched_for_at_each_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    growing = Growing(tmp_path / "run.isoscope.h5")
    growing.step(4)
    growing.recorder.flush(10.0)
    source = LabelledSource(growing.recorder.path)
    source.index()
    searched: list[Path] = []
    monkeypatch.setattr(reader, "writer_of", searched.append)
    monkeypatch.setattr(reader, "SEARCH_EVERY_S", 1e6)
    for _ in range(5):
        source.refresh()
    assert len(searched) == 1
    assert source.store.cut
    source.store.writer = "somebody"  # as if it had been found
    source.refresh(sure=True)
    assert len(searched) == 2
    growing.recorder.close()
    source.close()


def test_a_file_that_nobody_wrote_to_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "SEARCH_EVERY_S", 1e6)
    growing = Growing(tmp_path / "run.isoscope.h5")
    growing.step(4)
    growing.recorder.flush(10.0)
    path = growing.recorder.path
    source = LabelledSource(path)
    source.index()
    long_ago = path.stat().st_mtime - 10.0
    os.utime(path, (long_ago, long_ago))
    source.refresh()  # read as it has long been
    with monkeypatch.context() as patch:
        patch.setattr(source.store, "_file", _refuse)
        for _ in range(3):
            assert not source.refresh()
    growing.step(4)
    growing.recorder.flush(10.0)
    assert source.refresh()
    assert len(source.recording) == 8
    growing.recorder.close()
    source.close()


def _refuse() -> Any:
    raise AssertionError("it was read")
