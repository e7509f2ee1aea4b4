"""A place leads back to exactly the value that was read there."""

from __future__ import annotations

import contextlib
import io
from typing import TYPE_CHECKING

import h5py
import numpy as np
import pytest

from isoscope.core.recording.registry import open_source
from isoscope.core.recording.superdex.places import Place, creation_place, step_place

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.recording.tracks import Array


def run(program: str) -> Array:
    names: dict[str, object] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(program, names)
    return np.asarray(names["value"])


@pytest.mark.parametrize("name", ["rigid_contacts_all", "soft_body", "create_destroy"])
def test_every_value_of_a_step_is_found_and_read_again(
    recordings: Path, name: str
) -> None:
    source = open_source(recordings / f"{name}.h5")
    source.index()
    recording = source.recording
    row = len(recording) - 5
    event = int(recording.steps.event[row])
    owners = [
        (None, recording.scene),
        *((a.handle, a.fields) for a in recording.actors),
    ]
    found = 0
    for handle, fields in owners:
        for field, track in fields.tracks.items():
            place, value = step_place(source, event, handle, field), track.at(row)
            assert (place is None) == (value is None)
            if place is not None:
                assert place.object.startswith(f"/events/{event}")
                assert np.array_equal(run(place.python()), value)
                found += 1
    assert found > 20
    source.close()


def test_what_a_creation_holds_is_found(recordings: Path) -> None:
    source = open_source(recordings / "soft_body.h5")
    source.index()
    jelly = source.recording.actors[0]
    first = int(source.recording.steps.event[jelly.created_native])
    for field in (
        "refPositions",
        "refPositions@numSurfNodes",
        "translation",
        "localToGlobal/globalIndices",
    ):
        place = creation_place(source, first, jelly.handle, field)
        assert place is not None
        assert np.array_equal(run(place.python()), jelly.reference[field])
    assert creation_place(source, first, jelly.handle + 1, "translation") is None
    source.close()


def test_a_component_is_cut_out(recordings: Path) -> None:
    place = Place(recordings / "soft_body.h5", "/events/5", "gravity")
    assert str(place) == "/events/5 @gravity"
    assert run(place.python(1)) == np.float32(-9.8)


def test_nothing_is_followed_out_of_the_file(tmp_path: Path) -> None:
    outside, path = tmp_path / "outside.h5", tmp_path / "run.h5"
    with h5py.File(outside, "w") as file:
        file.create_group("step").attrs["timeTotal"] = 1.0
    with h5py.File(path, "w") as file:
        step = file.create_group("events/0")
        step.attrs["eventType"] = b"Step"
        step.attrs["timeTotal"] = 0.02
        step["actors/7"] = h5py.ExternalLink("outside.h5", "/step")
        step["data"] = h5py.ExternalLink("outside.h5", "/step")
        file["events/1"] = h5py.SoftLink("/events/0")
    source = open_source(path)
    assert step_place(source, 0, None, "timeTotal") is not None
    assert step_place(source, 0, 7, "timeTotal") is None
    assert step_place(source, 0, None, "data") is None
    assert step_place(source, 1, None, "timeTotal") is None
    assert step_place(source, 99, None, "timeTotal") is None
    source.close()
    assert step_place(source, 0, None, "timeTotal") is None
