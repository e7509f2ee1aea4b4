from __future__ import annotations

import numpy as np
import pytest

from isoscope.core.recording.model import Labels
from isoscope.widgets.scene.caption import (
    Caption,
    about_floor,
    caption_of,
    nice,
    quantity,
)
from isoscope.widgets.scene.palette import actor_colours, hexadecimal, linear, rgb
from isoscope.widgets.scene.resolve import resolve
from isoscope.widgets.scene.shapes import shapes_of
from isoscope.widgets.scene.state import NOTHING, Intent, Overlay
from isoscope.widgets.scene.survey import survey
from isoscope.widgets.theme import DARK, LIGHT
from tests.widgets.scene.build import empty, one_cube, real


def caption(name: str, row: int, **wishes: object) -> Caption:
    recording = real(name)
    shapes = shapes_of(recording.actors)
    intent = Intent(**wishes)  # type: ignore[arg-type]  # passed through
    return caption_of(shapes, resolve(recording, shapes, row, intent), intent)


def test_it_says_where_the_cursor_is() -> None:
    said = caption("rigid_contacts_all", 26)
    assert said.title == "native step 26 of 79"
    assert said.details == "t 0.54 s · h 0.02 s · 12 contacts"
    assert said.notes == ()


def test_one_contact_is_no_contacts() -> None:
    assert caption("rigid_contacts_all", 39, hidden=frozenset({1})).details.endswith(
        " 1 contact"
    )


def test_contacts_that_were_not_recorded_are_not_none() -> None:
    assert "contact" not in caption("create_destroy", 25).details


def test_it_says_whose_step_it_is() -> None:
    recording = empty(5)
    recording.labels = Labels.unknown(5)
    recording.labels.env[3] = 0
    recording.labels.episode[3] = 1
    recording.labels.control_step[3] = 9
    state = resolve(recording, shapes_of([]), 3)
    said = caption_of(shapes_of([]), state, Intent())
    assert said.title == "env 0 · episode 1 · control step 9"
    assert said.details.startswith("native step 3 · ")


def test_it_says_what_is_not_recorded() -> None:
    notes = caption("no_state", 2).notes
    assert notes[0] == "pose not recorded, drawn faded where created: Crate, BallA"
    assert "cross" in notes[1]


def test_it_says_what_is_not_finite_and_what_is_damaged() -> None:
    recording = one_cube(np.zeros((2, 3)))
    recording.actors[0].fields.tracks["translation"].values[1] = np.nan
    recording.actors[0].reference["surfFaceIndices"] = np.array([9, 9, 9], np.int32)
    shapes = shapes_of(recording.actors)
    notes = caption_of(shapes, resolve(recording, shapes, 1), Intent()).notes
    assert notes == (
        "pose is not finite (NaN or infinity), not drawn: Cube",
        "mesh can't be drawn (surfFaceIndices points outside of surfRefPositions): "
        "Cube",
    )


def test_many_names_are_counted() -> None:
    recording = real("no_state")
    shapes = shapes_of(recording.actors * 1)
    state = resolve(recording, shapes, 0)
    assert "and" not in caption_of(shapes, state, Intent()).notes[0].split(": ")[1]


def test_the_selected_actor_is_named_also_where_it_is_not() -> None:
    assert (
        caption("create_destroy", 5, selected=1)
        .notes[0]
        .startswith("selected: BallA at ")
    )
    assert caption("create_destroy", 25, selected=0).notes == (
        "selected: Crate (not in this step)",
    )
    hidden = caption("create_destroy", 5, selected=1, hidden=frozenset({1}))
    assert hidden.notes == ("selected: BallA (hidden)",)


def test_overlays_are_named_with_their_key() -> None:
    shapes = shapes_of([])
    state = resolve(empty(2), shapes, 0)
    overlay = Overlay("expected start", ())
    one = caption_of(shapes, state, Intent(), overlay, 1)
    assert one.notes == ("overlay: expected start — O hides it",)
    two = caption_of(shapes, state, Intent(), overlay, 2)
    assert two.notes == ("overlay: expected start — O cycles",)


def test_the_ground_is_told_for_what_it_is() -> None:
    eye, down = np.array([0.0, 1.0, 0.0]), np.array([0.0, -1.0, 0.0])
    for name, words in (("create_destroy", "Ground:"), ("restore_twice", "horizontal")):
        shapes = shapes_of(real(name).actors)
        assert words in about_floor(shapes, survey(real(name), shapes), eye, down)
    shapes = shapes_of(real("shared_cartpole_2env").actors)
    found = survey(real("shared_cartpole_2env"), shapes)
    assert "no ground" in about_floor(shapes, found, eye, down)
    assert about_floor(shapes, found, eye, -down) == ""


def test_nothing_has_no_caption() -> None:
    assert caption_of(shapes_of([]), NOTHING, Intent()) == Caption()


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (1.0, 1),
        (1.99, 1),
        (2, 2),
        (4.99, 2),
        (5, 5),
        (9.9, 5),
        (0.037, 0.02),
        (7e5, 5e5),
    ],
)
def test_nice_numbers(value: float, found: float) -> None:
    assert nice(value) == pytest.approx(found)


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_no_nice_number(value: float) -> None:
    assert nice(value) == 0.0


def test_quantities_have_prefixes() -> None:
    assert quantity(0.05, "m") == "50 mm"
    assert quantity(2000, "N") == "2 kN"
    assert quantity(1, "m") == "1 m"
    assert quantity(1e-9, "m") == "1e-09 m"


@pytest.mark.parametrize("tokens", [DARK, LIGHT])
def test_bodies_differ_and_what_never_moves_is_neutral(tokens: object) -> None:
    shapes = shapes_of(real("create_destroy").actors)
    crate, ball, ground, late = actor_colours(shapes, tokens)  # type: ignore[arg-type]  # Tokens
    assert len({crate, ball, late}) == 3
    assert ground == tokens.dim  # type: ignore[attr-defined]  # Tokens


def test_links_share_the_colour_of_their_articulation() -> None:
    shapes = shapes_of(real("shared_cartpole_2env").actors)
    root, pole, cart = (rgb(c) for c in actor_colours(shapes, DARK))
    assert np.array_equal(root, cart)
    assert (pole >= cart).all()
    assert not np.array_equal(pole, cart)


def test_colours_go_there_and_back() -> None:
    assert hexadecimal(rgb("#4c9bea")) == "#4c9bea"
    assert linear(np.array([0.0, 0.5, 1.0])) == pytest.approx([0, 0.2140, 1], abs=1e-4)
