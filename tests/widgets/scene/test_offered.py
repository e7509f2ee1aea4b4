"""Overlays that come with the cursor: which of them is shown."""

from __future__ import annotations

import numpy as np

from isoscope.widgets.scene.model import SceneModel
from isoscope.widgets.scene.picture import WorldText
from isoscope.widgets.scene.state import Arrow, Ghost, Intent, Overlay, Whose
from isoscope.widgets.theme import DARK
from tests.widgets.scene.build import actor_named, real

BLUE = DARK.environment(0)
PROOF = Overlay("proof", (Ghost(3, BLUE, "was"),), "is", proof=True)
OTHERS = Overlay("others", (Ghost(2, BLUE),))


def model_of(name: str = "shared_cartpole_2env") -> SceneModel:
    model = SceneModel()
    model.follow(real(name), look_again=True)
    return model


def test_a_proof_is_shown_unasked_and_nothing_else() -> None:
    model = model_of()
    model.offer((OTHERS,))
    assert model.overlay is None
    model.offer((PROOF, OTHERS))
    assert model.overlay is PROOF


def test_what_was_asked_for_stays_by_its_name() -> None:
    model = model_of()
    model.offer((PROOF, OTHERS))
    model.cycle_overlay()
    assert model.overlay is OTHERS
    again = Overlay("others", (Ghost(9, BLUE),))
    model.offer((PROOF, again))
    assert model.overlay is again
    model.offer((PROOF,))
    assert model.overlay is None
    model.offer((PROOF, again))
    assert model.overlay is again


def test_nothing_that_was_asked_for_stays_nothing_until_another_finding() -> None:
    model = model_of()
    model.offer((PROOF,))
    model.cycle_overlay()
    assert model.overlay is None
    model.offer((PROOF,))
    assert model.overlay is None
    model.forget_asked()
    model.offer((PROOF,))
    assert model.overlay is PROOF


def test_an_overlay_s_own_step_stands_for_the_present_one() -> None:
    model = model_of()
    model.offer((Overlay("p", (), "began here", row=7, proof=True),))
    model.picture(20, Intent(), DARK, Whose(0, 1, 9))
    assert model.state.row == 7
    whose = model.state.whose
    assert (whose.env, whose.episode, whose.control_step) == (0, 1, 9)


def test_ghosts_that_stand_apart_get_their_places_from_the_survey() -> None:
    model = model_of()
    model.offer((Overlay("s", (Ghost(3, BLUE, alpha=1.0),), apart=True, proof=True),))
    (ghost,) = model.overlay.ghosts
    assert any(ghost.offset)


def test_an_overlay_s_arrows_are_drawn_to_one_scale_with_their_words() -> None:
    model = model_of()
    arrows = (
        Arrow((0.0, -1.0, 0.0), DARK.dim, "before"),
        Arrow((0.0, -0.5, 0.0), DARK.error, "after"),
    )
    model.offer((Overlay("p", (), proof=True, arrows=arrows),))
    without = model.picture(5, Intent(), DARK)
    model.cycle_overlay()
    assert len(model.picture(5, Intent(), DARK).through) < len(without.through)
    words = {text.text: text for text in without.texts}
    assert set(words) == {"before", "after"}
    assert all(isinstance(t, WorldText) and not t.beside for t in without.texts)
    ends = without.through.ends
    length = sorted({round(float(np.linalg.norm(b - a)), 6) for a, b in ends})
    assert len(length) >= 2


def test_a_ghost_of_one_actor_shows_no_other() -> None:
    recording = real("rigid_contacts_all")
    model = model_of("rigid_contacts_all")
    ball, crate = (actor_named(recording, n).index for n in ("BallA", "Crate"))
    model.offer((Overlay("p", (Ghost(9, BLUE, actors=(ball,)),), proof=True),))
    (ghost,) = model.picture(20, Intent(), DARK).ghosts
    assert ghost.colours[ball, 3] > 0
    assert ghost.colours[crate, 3] == 0


def test_one_tint_colours_all_that_move() -> None:
    model = model_of("rigid_contacts_all")
    recording = real("rigid_contacts_all")
    ball, crate = (actor_named(recording, n).index for n in ("BallA", "Crate"))
    assert model.colour(ball, 0, DARK) != model.colour(crate, 0, DARK)
    model.tint = DARK.environment(1)
    assert model.colour(ball, 0, DARK) == model.colour(crate, 0, DARK) == model.tint
    model.tint = None
    assert model.colour(ball, 0, DARK) != model.colour(crate, 0, DARK)
