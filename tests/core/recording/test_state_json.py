"""States that the engine wrote as JSON: what is understood equals a recording."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.core.errors import ReadError
from isoscope.core.recording.info import info
from isoscope.core.recording.registry import load
from isoscope.core.recording.superdex import state_json
from isoscope.core.recording.superdex.state_fields import actor_fields, leaves

DATA = Path(__file__).parents[2] / "data"
STATES = DATA / "states"
REAL = np.dtype(np.float32)


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        (
            "rigid_contacts_all",
            {
                "BallA": 7,
                "Crate": 7,
                "Ground": 2,
            },
        ),
        ("soft_body", {"Jelly": 2, "Ground": 2}),
    ],
)
def test_a_state_equals_the_recording_of_the_same_step(
    name: str, fields: dict[str, int]
) -> None:
    state = load(STATES / f"{name}-1.0.0.json")
    recording = load(DATA / "recordings" / f"{name}.h5")
    last = len(recording) - 1
    equal = dict.fromkeys(fields, 0)
    for actor in recording.actors:
        [twin] = [a for a in state.actors if a.name == actor.name]
        assert twin.type == actor.type
        # The state has the slot only, without the generation.
        assert twin.handle == actor.handle & 0xFFFFFFFF
        for field, track in actor.fields.tracks.items():
            other = twin.fields.get(field)
            if other is not None:
                value, same = track.at(last), other.at(0)
                assert value is not None
                assert same is not None
                assert (value.dtype, value.shape) == (same.dtype, same.shape)
                assert np.array_equal(value, same)
                equal[actor.name] += 1
    assert equal == fields
    assert state.steps.h_s[0] == recording.steps.h_s[last]
    assert state.steps.scene_time_s[0] == pytest.approx(recording.steps.time_s[last])
    assert state.real == recording.real


@pytest.mark.parametrize("release", ["1.0.0", "1.0.1"])
def test_an_articulation_has_its_joints_links_and_target(release: str) -> None:
    state = load(STATES / f"cartpole-{release}.json")
    pole = state.find_actors("CartPole")[0]
    assert pole.type == "Articulated"
    assert pole.fields["pose"].shape == (2,)
    assert pole.fields["vcom"].shape == (2, 3)
    assert pole.fields["omega"].shape == (2, 3)
    assert pole.fields["vsym"].shape == (2, 9)
    target = pole.fields["targetPose"].at(0)
    assert target is not None
    assert np.array_equal(target, np.array([0.1, 0.2], np.float32) * np.float32(10))
    assert state.steps.scene_time_s[0] == 0.02 * 9 + 0.02
    assert [a.name for a in state.actors] == [
        "CartPole",
        "CartPole/Cart",
        "CartPole/Pole",
    ]
    assert state.notes["steps_taken"] == "10"


def test_it_says_that_it_can_not_be_restored() -> None:
    state = load(STATES / "cartpole-1.0.1.json")
    assert "can't restore" in state.notes["restore"]
    assert any("can't restore" in p.message for p in state.problems)
    described = info(state)
    assert described.supports.resimulation.answer == "no"
    assert "can't restore" in described.supports.resimulation.reason
    assert described.supports.playback.answer == "no"


def test_what_is_not_said_is_not_made_up() -> None:
    state = load(STATES / "empty-1.0.1.json")
    assert len(state) == 1
    assert state.actors == []
    assert np.isnan(state.steps.gravity).all()
    assert np.isnan(state.steps.time_s).all()
    assert np.isnan(state.steps.h_s).all()  # it was never stepped
    assert state.real is None
    assert all(a.static is None for a in load(STATES / "soft_body-1.0.1.json").actors)


def test_components_that_are_not_understood_are_kept_under_their_names() -> None:
    state = load(STATES / "soft_body-1.0.1.json")
    jelly = state.find_actors("Jelly")[0]
    moved = jelly.fields["CDisplacementSlice<float,Current,Default>/value"]
    assert moved.shape == (15,)
    assert "displacement" not in jelly.fields  # it is not what a recording holds
    assert jelly.fields["CConvergenceStatus/stepStatus"].at(0) == b"Converged"


def test_every_number_of_the_file_is_kept() -> None:
    def count(value: Any) -> int:
        if isinstance(value, dict):
            return sum(map(count, value.values()))
        if isinstance(value, list):
            return sum(map(count, value))
        return int(isinstance(value, (int, float)))

    for path in STATES.glob("*.json"):
        content = json.loads(path.read_text())
        state = load(path)
        for key, entry in content.get("actors", {}).items():
            [actor] = [a for a in state.actors if a.name == key]
            kept = sum(
                int(np.prod(t.shape))
                for t in actor.fields.tracks.values()
                if t.dtype.kind != "S"
            )
            # Four numbers are written where three are meant, and six where nine are.
            padding = sum(
                {"vcom": 1, "omega": 1, "vsym": -1}.get(name, 0)
                * (t.shape[0] if len(t.shape) == 2 else 1)
                for name, t in actor.fields.tracks.items()
            )
            assert kept + padding == count(entry["components"])


def test_doubles_stay_doubles(tmp_path: Path) -> None:
    content = json.loads((STATES / "rigid_contacts_all-1.0.0.json").read_text())
    root = content["actors"]["BallA"]["components"]["CRootTransform"]
    root["worldFromLocal"]["translation"][1] = 0.1
    path = tmp_path / "state.json"
    path.write_text(json.dumps(content))
    state = load(path)
    assert state.real == np.float64
    value = state.find_actors("BallA")[0].fields["translation"].at(0)
    assert value is not None
    assert value[1] == 0.1


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'{"scene": {"CSceneTime": {"_deltaSeconds": 0.0', "broken or cut"),
        (b'{"actors": [1, 2]}', "JSON, but no state of a scene"),
        (b'{"scene": ' + b"[" * 100_000, "broken or cut"),
        (b'{"scene": {}, "x": NaN}', "broken or cut"),
        (b'{"scene": {}, "x": 1e999}', "broken or cut"),
        (b'{"scene": "\xff"}', "broken or cut"),
        (b'{"scene": {}} more', "broken or cut"),
    ],
)
def test_broken_json_is_told_in_one_line(
    tmp_path: Path, content: bytes, expected: str
) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(content)
    with pytest.raises(ReadError) as caught:
        load(path)
    assert expected in str(caught.value)
    assert str(caught.value).isprintable()


def test_too_large_a_file_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_json, "MAX_BYTES", 100)
    path = tmp_path / "state.json"
    path.write_bytes(b'{"scene": {}}' + b" " * 100)
    with pytest.raises(ReadError, match="113 bytes"):
        load(path)


def test_a_byte_order_mark_and_odd_entries_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    content = {
        "actors": {
            "A": {"_handle": -1, "_name": "", "components": {"C": {"x": 10**400}}},
            "B": {"_handle": 1 << 70, "_name": 7, "components": [1]},
            "C": 5,
        },
        "scene": {"CSceneTime": [], "CSceneStepCounter": {"value": True}},
        "constraints": {"one": {}},
    }
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(content).encode())
    state = load(path)
    assert [(a.name, a.handle) for a in state.actors] == [("A", 0), ("B", 0)]
    assert "actor without a handle" in str(state.problems[1])
    assert state.problems[1].count == 2
    assert np.isnan(state.steps.scene_time_s[0])
    assert state.notes["constraints"] == "1"


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 30), 1 << 80)
    | st.floats(width=32)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "CRootTransform",
                    "worldFromLocal",
                    "translation",
                    "CRigidVel<Current>",
                    "CArticulatedJointVels<Current>",
                    "value",
                    "vcom",
                    "omega",
                    "vsym",
                    "x",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=30,
)


@given(st.dictionaries(st.sampled_from(["CRootTransform", "C"]), anything))
def test_whatever_a_component_holds_comes_out_as_arrays(components: Any) -> None:
    for made in (actor_fields(components, REAL), leaves(components, REAL)):
        for value in made.values():
            assert value.dtype.kind in "bifS"
