from __future__ import annotations

import numpy as np

from isoscope.widgets.scene.model import SceneModel
from isoscope.widgets.scene.palette import linear, rgb
from isoscope.widgets.scene.state import Ghost, Intent, Overlay
from isoscope.widgets.theme import DARK
from tests.widgets.scene.build import actor_named, add_cube, empty, one_cube, real

RED = "#ff0000"


def model_of(name: str, *overlays: Overlay) -> SceneModel:
    model = SceneModel()
    model.follow(real(name), look_again=True)
    model.set_overlays(overlays)
    return model


def test_a_ghost_is_another_row_of_what_moves() -> None:
    model = model_of("rigid_contacts_all", Overlay("o", (Ghost(10, RED),)))
    picture = model.picture(60, Intent(), DARK)
    (ghost,) = picture.ghosts
    crate = actor_named(real("rigid_contacts_all"), "Crate")
    there = ghost.transforms[crate.index][:, 3]
    assert np.array_equal(there, crate.fields["translation"].at(10))
    assert np.allclose(ghost.colours[crate.index], [*linear(rgb(RED)), 0.35])
    assert ghost.rim == (1.0, 0.0, 0.0, 0.8)
    ground = model.survey.grounds[0]
    assert ghost.colours[ground, 3] == 0


def test_an_offset_moves_bodies_and_soft_surfaces() -> None:
    offset = (1.0, 2.0, 3.0)
    overlay = Overlay("o", (Ghost(9, RED), Ghost(9, RED, offset=offset)))
    here, there = model_of("soft_body", overlay).picture(9, Intent(), DARK).ghosts
    for actor, surface in here.surfaces.items():
        assert np.allclose(there.surfaces[actor], surface + offset)
    moved = there.transforms - here.transforms
    assert np.allclose(moved[0, :, 3], offset)


def test_a_ghost_of_another_recording_is_matched_by_name() -> None:
    other = empty(2)
    add_cube(other, np.full((2, 3), 9.0), name="Elsewhere")
    add_cube(other, np.full((2, 3), 5.0), name="Cube")
    model = SceneModel()
    model.follow(one_cube(np.zeros((4, 3))))
    model.set_overlays((Overlay("o", (Ghost(1, RED, recording=other),)),))
    (ghost,) = model.picture(0, Intent(), DARK).ghosts
    assert len(ghost.transforms) == 1
    assert ghost.transforms[0][:, 3].tolist() == [5, 5, 5]


def test_a_ghost_outside_of_the_recording_is_left_out() -> None:
    model = model_of("rigid_contacts_all", Overlay("o", (Ghost(10**6, RED),)))
    assert model.picture(0, Intent(), DARK).ghosts == ()


def test_a_hidden_actor_has_no_ghost() -> None:
    model = model_of("rigid_contacts_all", Overlay("o", (Ghost(10, RED),)))
    (ghost,) = model.picture(60, Intent(hidden=frozenset({0})), DARK).ghosts
    assert np.isnan(ghost.transforms[0]).all()
    assert ghost.colours[0, 3] == 0


def test_ghosts_are_labelled_above_their_bodies() -> None:
    overlay = Overlay("o", (Ghost(79, RED, "was here"),), here="is here")
    picture = model_of("rigid_contacts_all", overlay).picture(0, Intent(), DARK)
    here, was = picture.texts
    assert (here.text, was.text) == ("is here", "was here")
    crate = actor_named(real("rigid_contacts_all"), "Crate")
    top = crate.fields["translation"].at(0)
    assert top is not None
    assert np.isclose(here.place[1], top[1] + 0.1, atol=1e-3)


def test_an_arrow_leads_from_the_ghost_to_the_present() -> None:
    with_arrow = Overlay("o", (Ghost(79, RED, arrow=True),))
    without = Overlay("o", (Ghost(79, RED),))
    drawn = model_of("create_destroy", with_arrow, without)
    assert len(drawn.picture(0, Intent(), DARK).through) == 0  # row 79 doesn't exist
    drawn = model_of("rigid_contacts_all", with_arrow, without)
    arrow = drawn.picture(0, Intent(contacts=False), DARK).through
    assert len(arrow) > 10
    # it ends in a point, and nothing follows it
    assert arrow.widths[-1, 1] == 0
    drawn.cycle_overlay()
    assert len(drawn.picture(0, Intent(contacts=False), DARK).through) == 0


def test_overlays_are_gone_through_and_then_none() -> None:
    model = model_of("soft_body", Overlay("a", ()), Overlay("b", ()))
    names = []
    for _ in range(4):
        names.append(model.overlay.name if model.overlay else None)
        assert model.cycle_overlay()
    assert names == ["a", "b", None, "a"]
    model.set_overlays(())
    assert not model.cycle_overlay()


def test_the_box_to_frame_takes_in_what_stands_beside() -> None:
    model = model_of("rigid_contacts_all")
    low, high = model.box_of(None)
    assert np.array_equal(low, model.survey.low)
    assert np.array_equal(low, model.whole_box()[0])
    ghost = Ghost(3, RED, offset=(0, 0, -7))
    model.set_overlays((Overlay("o", (ghost,)),))
    wide_low, wide_high = model.box_of(None)
    assert np.allclose(wide_low, low - [0, 0, 7])
    assert np.array_equal(wide_high, high)


def test_a_hook_colours_what_moves() -> None:
    model = model_of("rigid_contacts_all")
    model.colour_hook = lambda actor, row: RED if row == 5 and actor == 0 else None
    usual = model.colour(0, 4, DARK)
    assert usual in DARK.environments
    assert model.colour(0, 5, DARK) == RED
    assert model.colour(1, 5, DARK) in DARK.environments
    model.colour_hook = lambda actor, row: RED
    assert model.colour(2, 5, DARK) == DARK.dim


def test_a_growing_recording_is_looked_at_again() -> None:
    recording = empty(1)
    add_cube(recording, np.zeros((40, 3)))
    model = SceneModel()
    assert model.follow(recording)
    assert not model.follow(recording)
    recording.steps.append(
        np.arange(1, 40), np.zeros(39), np.zeros(39), np.zeros((39, 3))
    )
    assert model.follow(recording)
    assert not model.follow(recording, look_again=True)
    add_cube(recording, np.ones((40, 3)), name="New")
    assert not model.follow(recording)
    assert len(model.shapes) == 2


def test_the_box_of_an_actor_is_around_it() -> None:
    model = model_of("rigid_contacts_all")
    model.picture(60, Intent(), DARK)
    low, high = model.box_of(0)
    at = model.state.transforms[0][:, 3]
    assert (low < at).all()
    assert (high > at).all()
    assert np.linalg.norm(high - low) < 1
