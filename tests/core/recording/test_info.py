"""`isoscope.info/1`: what a recording holds and what it can be used for."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from isoscope.core.jsonform import decode, encode
from isoscope.core.recording.info import Info, info
from isoscope.core.recording.model import Labels, Problem, Recording
from isoscope.core.recording.registry import load, open_source

RECORDINGS = Path(__file__).parents[2] / "data" / "recordings"
USES = (
    "playback",
    "attribution",
    "resimulation",
    "gradients",
    "transitions",
    "bitwise",
)


def described(name: str) -> Info:
    return info(load(RECORDINGS / f"{name}.h5"))


def test_the_written_form_is_the_agreed_one() -> None:
    content = msgspec.json.decode(encode(described("create_destroy")))
    assert list(content) == [
        "schema",
        "file",
        "format",
        "bytes",
        "complete",
        "warnings",
        "precision",
        "events",
        "steps",
        "recording_time_s",
        "time_steps",
        "gravity",
        "actors",
        "supports",
        "labels",
    ]
    assert content["schema"] == "isoscope.info/1"
    assert content["format"] == "superdex-events"
    assert content["bytes"] == (RECORDINGS / "create_destroy.h5").stat().st_size
    assert content["complete"] is True
    assert content["warnings"] == []
    assert content["precision"] == "float32"
    assert content["events"] == {
        "CreateActor": 4,
        "DestroyActor": 1,
        "Step": 30,
        "other": 0,
    }
    assert content["steps"] == 30
    assert content["recording_time_s"] == [0.02, pytest.approx(0.6)]
    assert content["time_steps"] == [{"h_s": 0.02, "count": 30}]
    assert content["gravity"] == [
        {
            "value": [0.0, float(np.float32(-9.8)), 0.0],
            "first_native": 0,
            "last_native": 29,
        }
    ]
    assert list(content["supports"]) == list(USES)
    assert all(set(a) == {"answer", "reason"} for a in content["supports"].values())
    assert content["labels"] == dict.fromkeys(
        ("environments", "seeds", "actions", "snapshots"), False
    )
    late = next(a for a in content["actors"] if a["name"] == "Late")
    assert list(late) == [
        "name",
        "handle",
        "type",
        "static",
        "created_native",
        "destroyed_native",
        "fields",
    ]
    assert (late["created_native"], late["destroyed_native"]) == (10, None)
    crate = next(a for a in content["actors"] if a["name"] == "Crate")
    assert crate["destroyed_native"] == 20
    assert crate["handle"] > 1 << 32
    field = next(f for f in late["fields"] if f["name"] == "vcom")
    assert field == {
        "name": "vcom",
        "dtype": "float32",
        "shape": [3],
        "present": 20,
        "ragged": False,
        "unit": "m/s",
    }


def test_the_written_form_reads_back() -> None:
    before = described("rigid_contacts_all")
    assert decode(encode(before), Info) == before


def test_precision_contacts_and_meaning_of_fields() -> None:
    assert described("fp64_rigid_contacts_all").precision == "float64"
    ball = described("rigid_contacts_all").actors[1]
    fields = {field.name: field for field in ball.fields}
    force = fields["contacts_force"]
    assert (force.ragged, force.unit, force.shape) == (True, "N", [-1])
    assert 0 < force.present < 80
    assert fields["name"].dtype == "S5"
    assert fields["vsym"].unit is None


def test_durations_and_gravity_in_runs() -> None:
    steps = described("variable_steps").time_steps
    assert [(step.h_s, step.count) for step in steps] == [
        (0.02, 4),
        (0.0, 1),
        (1e-5, 1),
        (0.005, 1),
        (0.01, 1),
        (0.04, 1),
    ]
    first, second = described("shared_cartpole_leak_gravity").gravity
    assert (first.first_native, first.last_native) == (0, 65)
    assert (second.first_native, second.last_native) == (66, 124)
    assert second.value == [0.0, -3.0, 0.0]


@pytest.mark.parametrize(
    ("name", "yes"),
    [
        ("shared_cartpole_2env", {"playback", "attribution"}),
        ("rigid_contacts_all", {"playback", "attribution"}),
        ("no_state", set()),
        ("soft_body", {"playback"}),
    ],
)
def test_what_it_can_be_used_for(name: str, yes: set[str]) -> None:
    supports = described(name).supports
    assert {use for use in USES if getattr(supports, use).answer == "yes"} == yes
    for use in USES:
        assert getattr(supports, use).reason


def test_reasons_name_what_is_missing() -> None:
    native = described("shared_cartpole_2env").supports
    assert "no snapshots and no actions" in native.resimulation.reason
    assert "differentiate" in native.gradients.reason
    assert "no actions and no rewards" in native.transitions.reason
    assert "no engine version" in native.bitwise.reason
    assert (
        "record_dynamic_actor_state" in described("no_state").supports.playback.reason
    )
    assert "no velocities" in described("soft_body").supports.attribution.reason


def test_what_a_source_says_it_holds_counts() -> None:
    recording = load(RECORDINGS / "shared_cartpole_2env.h5")
    recording.notes.update(
        dict.fromkeys(("snapshots", "actions", "rewards", "engine", "seeds"), "yes")
    )
    recording.labels = Labels.unknown(len(recording))
    recording.labels.env[3] = 1
    result = info(recording)
    assert {getattr(result.supports, use).answer for use in USES} == {"yes"}
    assert result.labels.environments
    assert result.labels.seeds
    assert "labels" in result.supports.attribution.reason


def test_what_is_unknown_is_not_made_up() -> None:
    recording = Recording(None, "live")
    nothing = info(recording)
    assert nothing.file is None
    assert nothing.precision is None
    assert nothing.recording_time_s == (None, None)
    assert nothing.gravity == []
    assert nothing.time_steps == []
    assert nothing.supports.playback.reason == "it holds no step"
    unknown = np.full(3, np.nan)
    gravity = np.array([[0, 0, -1], [np.nan] * 3, [0, 0, -1]])
    recording.steps.append(np.arange(3), unknown, unknown, gravity)
    some = info(recording)
    assert some.recording_time_s == (None, None)
    assert some.time_steps == []
    assert [(g.first_native, g.last_native) for g in some.gravity] == [(0, 0), (2, 2)]


def test_warnings_are_the_problems_and_an_unfinished_index_is_not_complete() -> None:
    source = open_source(RECORDINGS / "post_callback.h5")
    source.recording.problems.append(Problem("odd", "/events/3", 2))
    before = info(source.recording)
    assert not before.complete
    assert before.warnings == ["odd (/events/3), and 1 more like it"]
    source.close()
