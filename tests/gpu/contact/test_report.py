"""One world's contacts, read back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.core.recording.schema import meaning
from isoscope.gpu.contact.report import contacts_of_world
from tests.gpu.contact.scenes import (
    GROUND,
    body,
    box,
    compiled,
    placed,
    scene,
    sphere,
)

if TYPE_CHECKING:
    import torch

STRAIGHT = (0.0, 0.0, 0.0, 1.0)


def test_what_touches_has_names_and_the_fields_of_recordings() -> None:
    model = scene(body("ball", sphere(0.1)), body("crate", box()), world=(GROUND,))
    tree, parameters, contacts = compiled(model)
    motion = placed(
        ((0.0, 0.0, 0.299), STRAIGHT), ((0.0, 0.0, 0.1), STRAIGHT), worlds=3
    )
    motion.position[0, 2, 1] = 0.5
    report = contacts.evaluate(motion, parameters)
    told: list[str] = []

    def to_host(tensor: torch.Tensor, cause: str) -> np.ndarray:
        told.append(cause)
        return np.asarray(tensor.numpy())

    found = contacts_of_world(report, tree, 0, to_host)
    assert set(told) == {"contacts"}
    assert found.actor_names == (("ball", "crate"),)
    assert found.shape_names == (("sphere", "box"),)
    fields = found.fields
    assert all(meaning(name).ragged for name in fields)
    np.testing.assert_allclose(fields["contacts_posA"], [[0, 0, 0.199]], atol=1e-12)
    np.testing.assert_allclose(fields["contacts_posB"], [[0, 0, 0.2]], atol=1e-12)
    np.testing.assert_allclose(fields["contacts_normal"], [[0, 0, 1]])
    np.testing.assert_allclose(fields["contacts_distance"], [-1e-3], atol=1e-12)
    np.testing.assert_allclose(fields["contacts_force"], [[0, 0, 20.0]], atol=1e-9)
    assert fields["contacts_actorA"].tolist() == [0]
    assert fields["contacts_actorB"].tolist() == [1]

    nothing = contacts_of_world(report, tree, 1).fields
    assert nothing["contacts_posA"].shape == (0, 3)
    assert nothing["contacts_distance"].shape == (0,)

    motion.position[1, 2, 2] = 0.0999
    on_ground = contacts_of_world(contacts.evaluate(motion, parameters), tree, 2)
    assert ("crate", "world") in on_ground.actor_names
    assert -1 in on_ground.fields["contacts_actorB"].tolist()


def test_a_world_that_does_not_exist_is_refused() -> None:
    tree, parameters, contacts = compiled(scene(body("a", box()), world=(GROUND,)))
    report = contacts.evaluate(placed(((0, 0, 0.1), STRAIGHT)), parameters)
    with pytest.raises(IndexError, match="no world 1; they are 0 to 0"):
        contacts_of_world(report, tree, 1)


def test_what_is_read_is_the_readers_own() -> None:
    tree, parameters, contacts = compiled(scene(body("a", box()), world=(GROUND,)))
    report = contacts.evaluate(placed(((0, 0, 0.09), STRAIGHT)), parameters)
    found = contacts_of_world(report, tree, 0)
    found.fields["contacts_force"][:] = 0.0
    assert float(report.force.abs().max()) > 0.0
