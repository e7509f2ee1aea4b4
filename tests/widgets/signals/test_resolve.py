from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from isoscope.core.recording.registry import load
from isoscope.widgets.session import FieldRef
from isoscope.widgets.signals.choices import field_choices, matching
from isoscope.widgets.signals.legend import WIDEST, value_text
from isoscope.widgets.signals.resolve import MAX_CURVES, resolve
from tests.widgets.opened import made_recording

if TYPE_CHECKING:
    from pathlib import Path


def test_one_curve_a_component_with_its_unit(recordings: Path) -> None:
    recording = load(recordings / "shared_cartpole_2env.h5")
    spec = resolve(recording, FieldRef(1, "omega"))
    assert (spec.actor, spec.field, spec.unit) == ("Pole", "omega", "[rad/s]")
    assert [curve.name for curve in spec.curves] == ["x", "y", "z"]
    assert len({curve.colour for curve in spec.curves}) == 3
    only = resolve(recording, FieldRef(1, "omega", 2))
    assert [curve.name for curve in only.curves] == ["z"]
    assert resolve(recording, FieldRef(1, "vsym", 0)).unit == "[unit unknown]"
    assert resolve(recording, FieldRef(1, "rotation", 0)).unit == ""


def test_what_is_missing_is_said(recordings: Path) -> None:
    recording = load(recordings / "no_state.h5")
    assert resolve(recording, FieldRef(0, "omega")).note == "not in this recording"
    assert resolve(recording, FieldRef(42, "omega")).curves == ()
    assert resolve(recording, FieldRef(0, "name")).note == "no numbers"
    assert resolve(recording, FieldRef(None, "gravity", 9)).note == "no component 9"


def test_too_many_components_are_cut_and_told() -> None:
    recording = made_recording(5, fields={"displacement": (40, 3)})
    spec = resolve(recording, FieldRef(0, "displacement"))
    assert len(spec.curves) == MAX_CURVES
    assert spec.note == f"the first {MAX_CURVES} of 120 components"


def test_a_measure_of_a_ragged_field(recordings: Path) -> None:
    recording = load(recordings / "rigid_contacts_all.h5")
    count = resolve(recording, FieldRef(0, "contacts_force"))
    assert (count.field, count.unit, count.ragged) == ("contacts_force count", "", True)
    most = resolve(recording, FieldRef(0, "contacts_force", None, "max"))
    assert (most.field, most.unit) == ("contacts_force max", "[N]")


def test_every_plottable_field_can_be_found(recordings: Path) -> None:
    recording = load(recordings / "rigid_contacts_all.h5")
    choices = field_choices(recording)
    assert [c.label for c in choices] == ["Crate", "BallA", "Ground", "step"]
    fields = {field.label for field in choices[0].children}
    assert {"omega", "contacts_force", "solverGroup"} <= fields
    assert not fields & {"name", "type", "handle"}
    (ball,) = matching(choices, "balla OMEGA z")
    assert [part.ref for part in ball.children[0].children] == [FieldRef(1, "omega", 2)]
    assert matching(choices, "no such thing") == ()
    assert matching(choices, "  ") == choices


def test_a_search_in_many_fields_is_cut() -> None:
    recording = made_recording(1, actors=400)
    found = matching(field_choices(recording), "omega")
    assert 0 < sum(len(actor.children) for actor in found) <= 301


@given(st.floats(allow_nan=True, allow_infinity=True, width=32))
def test_values_fit_their_slot(value: float) -> None:
    assert len(value_text(value)) <= len(WIDEST)


def test_no_value_is_a_word() -> None:
    assert value_text(None) == "absent"
    assert value_text(0.0) == "0"
