"""Who may enter a scene."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.gpu.scene.errors import SceneClosedError, SceneError, SceneThreadError
from tests.gpu.scene.models import H, cartpole, scene_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.gpu.scene.scene import SimulatedScene


def elsewhere(action: Callable[[], object]) -> BaseException | None:
    caught: list[BaseException] = []

    def run() -> None:
        try:
            action()
        except SceneError as error:
            caught.append(error)

    thread = threading.Thread(target=run, name="stranger")
    thread.start()
    thread.join()
    return caught[0] if caught else None


def entries(scene: SimulatedScene) -> list[Callable[[], object]]:
    handle = scene.capture()
    data = scene.state_to_bytes(handle)
    zeros = np.zeros((1, 2))
    return [
        lambda: scene.step(H),
        lambda: scene.positions(0),
        lambda: scene.velocities(0),
        lambda: scene.time_s,
        lambda: scene.valid,
        lambda: scene.set_state(0, zeros, zeros),
        lambda: scene.set_dof_forces(0, zeros),
        lambda: scene.set_link_wrenches(0, np.zeros((1, 2, 6))),
        lambda: scene.set_targets(0, np.zeros((1, 1))),
        lambda: scene.on_pre_step(lambda scene, h: None),
        lambda: scene.on_post_step(lambda scene, h: None),
        lambda: scene.on_recorded(lambda scene, h: None),
        scene.capture,
        lambda: scene.restore(handle),
        lambda: scene.is_equal(handle, handle),
        lambda: scene.state_to_bytes(handle),
        lambda: scene.state_from_bytes(data),
        scene.persistent_configuration,
        scene.configuration_fingerprint,
        lambda: scene.configure("mass", np.ones(2)),
        lambda: scene.read(0, "pose"),
        lambda: scene.release(handle),
    ]


def test_a_second_thread_is_refused_everywhere() -> None:
    scene = scene_of(cartpole())
    scene.step(H)
    before, configuration = scene.capture(), scene.configuration_fingerprint()
    for entry in entries(scene):
        error = elsewhere(entry)
        assert isinstance(error, SceneThreadError)
        assert "stranger" in str(error)
        assert "MainThread steps it" in str(error)
    assert scene.is_equal(before, scene.capture())
    assert scene.configuration_fingerprint() == configuration
    assert scene.time_s.tolist() == [H]


def test_the_owner_is_who_steps_first_not_who_made_it() -> None:
    scene = scene_of(cartpole())
    scene.set_targets(0, np.ones((1, 1)))
    assert elsewhere(lambda: scene.step(H)) is None
    with pytest.raises(SceneThreadError):
        scene.step(H)
    # its number may be another thread's now, and still it is not the owner
    assert isinstance(elsewhere(lambda: scene.step(H)), SceneThreadError)


def test_a_thread_that_comes_during_a_step_is_refused() -> None:
    scene, errors = scene_of(cartpole()), []
    scene.on_pre_step(lambda s, h: errors.append(elsewhere(lambda: s.step(h))))
    scene.step(H)
    assert isinstance(errors[0], SceneThreadError)
    assert scene.time_s.tolist() == [H]


def test_after_close_all_is_refused_but_closing() -> None:
    scene = scene_of(cartpole())
    doors = entries(scene)
    scene.close()
    scene.close()
    for entry in doors:
        with pytest.raises(SceneClosedError, match="was closed"):
            entry()
    assert scene.name == "cartpole"


def test_closing_in_a_step_is_refused() -> None:
    scene = scene_of(cartpole())
    scene.on_pre_step(lambda s, h: s.close())
    with pytest.raises(SceneError, match="during a step"):
        scene.step(H)
    scene.capture()


def test_a_callback_may_do_all_but_step() -> None:
    scene, done = scene_of(cartpole()), []

    def enter(scene: SimulatedScene, h: float) -> None:
        for entry in entries(scene)[1:]:
            entry()
            done.append(entry)

    scene.on_post_step(enter)  # type: ignore[arg-type]
    scene.step(H)
    assert len(done) == 21
