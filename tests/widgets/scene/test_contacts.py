from __future__ import annotations

import numpy as np
import pytest

from isoscope.widgets.scene.contacts import contacts_at, typical_force_n
from isoscope.widgets.scene.marks import contact_strokes
from isoscope.widgets.scene.state import Contacts, Intent
from tests.widgets.scene.build import actor_named, real

RECORDING = "rigid_contacts_all"


def test_a_contact_that_both_bodies_list_is_shown_once() -> None:
    # In row 26 the ball has 6 contacts with the ground and 6 with the crate, which
    # lists those 6 too.
    contacts = contacts_at(real(RECORDING), 26, Intent())
    assert len(contacts) == 12
    ball = actor_named(real(RECORDING), "BallA").fields["contacts_posA"].at(26)
    assert ball is not None
    listed = {tuple(point) for point in ball.reshape(-1, 3).astype(float)}
    assert {tuple(point) for point in contacts.points} == listed


def test_no_contact_is_told_from_not_recorded() -> None:
    before = contacts_at(real(RECORDING), 0, Intent())
    assert before.recorded
    assert len(before) == 0
    never = contacts_at(real("create_destroy"), 25, Intent())
    assert not never.recorded


def test_hidden_actors_bring_no_contacts() -> None:
    recording = real(RECORDING)
    ball = actor_named(recording, "BallA").index
    without = contacts_at(recording, 60, Intent(hidden=frozenset({ball})))
    assert 0 < len(without) < len(contacts_at(recording, 60, Intent()))


def test_a_single_contact_written_as_a_short_vector() -> None:
    recording = real(RECORDING)
    ball = actor_named(recording, "BallA").index
    alone = contacts_at(recording, 45, Intent(hidden=frozenset({ball})))
    assert alone.points.shape == (1, 3)
    assert alone.forces[0, 1] == pytest.approx(18.2, abs=0.1)


def test_the_typical_force_is_not_the_impact() -> None:
    typical = typical_force_n(real(RECORDING))
    assert 1 < typical < 200
    assert typical_force_n(real("create_destroy")) == 0.0


def test_arrows_are_as_long_as_the_force() -> None:
    contacts = Contacts(
        True,
        np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0]]),
        np.array([[0.0, 10, 0], [0, 0, 0], [np.nan, np.nan, np.nan]]),
    )
    strokes = contact_strokes(contacts, "#ffffff", 0.01, 0.02)
    points, shaft, head = strokes.ends[:3], strokes.ends[3], strokes.ends[4]
    assert np.array_equal(points[:, 0], contacts.points)
    assert np.array_equal(points[:, 0], points[:, 1])
    assert np.allclose(shaft, [[0, 0, 0], [0, 0.08, 0]])
    assert np.allclose(head, [[0, 0.08, 0], [0, 0.1, 0]])
    # no arrow for no force, and none for one that isn't known
    assert len(strokes) == 5
