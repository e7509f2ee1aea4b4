"""A step: its order, its clock, who takes part, and what is left after an exception."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from isoscope.core.scene import Scene
from isoscope.gpu.scene.errors import SceneError
from tests.gpu.scene.models import (
    STUCK,
    H,
    bits,
    cartpole,
    everything,
    faulty_scene,
    give,
    scatter,
    scene_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def noting(notes: list[str], name: str) -> Callable[[Any, float], None]:
    return lambda scene, h: notes.append(f"{name} {scene.time_s[0]:.3f} {h}")


def raising(scene: Scene, h: float) -> None:
    raise ZeroDivisionError("on purpose")


def test_it_is_a_scene() -> None:
    assert isinstance(scene_of(cartpole()), Scene)


def test_order_and_clock() -> None:
    scene, notes = scene_of(cartpole()), list[str]()
    scene.on_recorded(noting(notes, "record"))
    scene.on_post_step(noting(notes, "post"))
    scene.on_pre_step(noting(notes, "pre"))
    scene.on_pre_step(noting(notes, "pre2"))
    scene.step(0.5)
    before = ["pre 0.000 0.5", "pre2 0.000 0.5"]
    assert notes == [*before, "post 0.500 0.5", "record 0.500 0.5"]


def test_callbacks_are_taken_off_also_while_they_run() -> None:
    scene, notes = scene_of(cartpole()), list[str]()
    removers = []

    def first(scene: Scene, h: float) -> None:
        notes.append("first")
        removers[1]()
        scene.on_pre_step(noting(notes, "late"))

    removers.append(scene.on_pre_step(first))
    removers.append(scene.on_pre_step(noting(notes, "second")))
    scene.step(H)
    assert notes == ["first"]
    for remove in (*removers, *removers):
        remove()
    scene.step(H)
    assert [note.split()[0] for note in notes] == ["first", "late"]


def test_a_pre_step_callback_that_raises_leaves_the_world_unstepped() -> None:
    scene, notes = scene_of(cartpole()), list[str]()
    scatter(scene)
    before, handle = bits(scene), scene.capture()
    scene.on_pre_step(raising)
    scene.on_recorded(noting(notes, "record"))
    with pytest.raises(ZeroDivisionError, match="on purpose"):
        scene.step(H)
    assert bits(scene) == before
    assert scene.is_equal(handle, scene.capture())
    assert notes == []


def test_a_post_step_callback_that_raises_leaves_it_stepped_and_recorded() -> None:
    scene, twin, notes = scene_of(cartpole()), scene_of(cartpole()), list[str]()
    for each in (scene, twin):
        scatter(each)
    remove = scene.on_post_step(raising)
    scene.on_recorded(noting(notes, "record"))
    with pytest.raises(ZeroDivisionError, match="on purpose"):
        scene.step(H)
    twin.step(H)
    assert bits(scene) == bits(twin)
    assert scene.time_s.tolist() == [H]
    assert notes == [f"record {H} {H}"]
    remove()
    scene.step(H)
    twin.step(H)
    assert bits(scene) == bits(twin)


def test_a_recorder_that_raises_costs_the_others_nothing() -> None:
    scene, notes = scene_of(cartpole()), list[str]()
    scene.on_recorded(raising)
    scene.on_recorded(noting(notes, "record"))
    scene.on_recorded(raising)
    with pytest.raises(ZeroDivisionError) as caught:
        scene.step(H)
    assert len(notes) == 1
    assert "another recorder failed too" in caught.value.__notes__[0]


def test_dynamics_that_raise_change_nothing() -> None:
    scene = scene_of(everything(), 5, block_worlds=2)
    scatter(scene)
    machine = scene.machine
    calls = []

    def step(*args: Any) -> Any:
        calls.append(args)
        if len(calls) == 2:
            raise MemoryError
        return machine.step(*args)

    scene._persistent.machine = replace(machine, step=step)
    before = scene.capture()
    with pytest.raises(MemoryError):
        scene.step(H)
    assert len(calls) == 2
    assert scene.is_equal(before, scene.capture())


def test_no_step_within_a_step() -> None:
    scene = scene_of(cartpole())
    scene.on_post_step(lambda scene, h: scene.step(h))
    with pytest.raises(SceneError, match="within its own step"):
        scene.step(H)
    assert scene.time_s.tolist() == [H]


def test_callbacks_may_change_the_state() -> None:
    scene = scene_of(cartpole())

    def hold(scene: Scene, h: float) -> None:
        scene.set_state(0, scene.positions(0), np.zeros((1, 2)))
        scene.configure("gravity", np.zeros(3))

    def read(scene: Scene, h: float) -> None:
        assert scene.velocities(0).abs().max() == 0
        assert scene.persistent_configuration()["gravity"].tolist() == [0, 0, 0]

    scene.set_state(0, np.array([[0.0, 0.5]]), np.ones((1, 2)))
    scene.on_post_step(hold)
    scene.on_recorded(read)
    scene.step(H)
    assert scene.positions(0)[0, 0] > 0


@pytest.mark.parametrize("h", [-1e-9, float("nan"), float("inf")])
def test_a_length_that_makes_no_sense_is_refused(h: float) -> None:
    scene = scene_of(cartpole())
    with pytest.raises(SceneError, match="give 0 or more"):
        scene.step(h)


def test_a_step_of_no_length_changes_no_position() -> None:
    scene = scene_of(cartpole())
    scatter(scene)
    before = bits(scene)
    report = scene.step(0.0)
    assert bits(scene) == before
    assert report.status.tolist() == [0]
    np.testing.assert_allclose(
        scene.read(0, "vcom")[0, 0, 0], scene.velocities(0)[0, 0], rtol=1e-6
    )


@settings(max_examples=25)
@given(st.lists(st.booleans(), min_size=5, max_size=5), st.sampled_from([1, 2, 3, 8]))
def test_worlds_left_out_keep_every_bit(mask: list[bool], size: int) -> None:
    scene = scene_of(everything(), 5, block_worlds=size)
    twin = scene_of(everything(), 5)
    for each in (scene, twin):
        scatter(each)
        each.step(H)
    before = [bits(scene, world) for world in range(5)]
    report = scene.step(H, worlds=np.array(mask))
    twin.step(H)
    for world, stepped in enumerate(mask):
        assert (bits(scene, world) == bits(twin, world)) is stepped
        assert (bits(scene, world) == before[world]) is not stepped
    assert scene.time_s.tolist() == [2 * H if stepped else H for stepped in mask]
    assert report.status.tolist() == [0 if stepped else -1 for stepped in mask]
    assert torch.isnan(report.residual).tolist() == [not stepped for stepped in mask]
    assert report.valid.all()


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("per_world", [False, True])
def test_bits_don_t_depend_on_the_number_of_worlds(
    precision: str, per_world: bool
) -> None:
    worlds = 64
    many = scene_of(everything(), worlds, precision=precision)
    scatter(many)
    masses = many.persistent_configuration()["mass"]
    all_masses = masses * np.linspace(0.5, 2, worlds)[:, None]
    if per_world:
        many.configure("mass", all_masses)
    chosen = (1, 63)
    alone = [scene_of(everything(), precision=precision) for _ in chosen]
    for scene, world in zip(alone, chosen, strict=True):
        give(scene, many, world)
        if per_world:
            scene.configure("mass", all_masses[world])
    for _ in range(60):
        for scene in (many, *alone):
            scene.set_targets(0, np.full((scene.worlds, 1), 0.3))
            scene.step(H)
    for scene, world in zip(alone, chosen, strict=True):
        assert bits(scene) == bits(many, world)
        for row in scene.rows:
            for field in row.fields:
                one = scene.read(row.index, field)
                assert one.tobytes() == many.read(row.index, field)[world].tobytes()


def test_a_world_that_did_not_converge_stays_as_it_is() -> None:
    scene, healthy = faulty_scene(cartpole(), 3), scene_of(cartpole(), 3)
    for each in (scene, healthy):
        scatter(each)
    good = scene.capture()
    scene.set_targets(0, np.array([[0.0], [2 * STUCK], [0.0]]))
    healthy.set_targets(0, np.array([[0.0], [2 * STUCK], [0.0]]))
    report = scene.step(H)
    healthy.step(H)
    assert report.status.tolist() == [0, 1, 0]
    assert report.valid.tolist() == scene.valid.tolist() == [True, False, True]
    assert bits(scene) == bits(healthy)
    failed = bits(scene, 1)
    scene.set_targets(0, np.zeros((3, 1)))
    healthy.set_targets(0, np.zeros((3, 1)))
    again = scene.step(H)
    healthy.step(H)
    assert again.status.tolist() == [0, -1, 0]
    assert bits(scene, 1) == failed
    assert bits(scene, 0) == bits(healthy, 0)
    assert scene.time_s.tolist() == [2 * H, H, 2 * H]
    broken = scene.capture()
    scene.restore(good, worlds=np.array([False, True, False]))
    assert scene.valid.all()
    scene.restore(broken)
    assert scene.valid.tolist() == [True, False, True]


def test_a_world_that_is_not_finite_is_diverged_and_visible() -> None:
    scene = scene_of(cartpole(), 2)
    scene.set_dof_forces(0, np.array([[np.inf, 0.0], [0.0, 0.0]]))
    report = scene.step(H)
    assert report.status.tolist() == [2, 0]
    assert scene.valid.tolist() == [False, True]
    assert not scene.velocities(0)[0].isfinite().all()
    scene.set_dof_forces(0, np.zeros((2, 2)))
    scene.set_state(0, np.zeros((2, 2)), np.zeros((2, 2)), np.array([True, False]))
    assert scene.valid.all()
    assert scene.step(H).status.tolist() == [0, 0]


def test_it_takes_all_moving_actors_to_make_a_world_valid_again() -> None:
    scene = scene_of(everything())
    scene.set_dof_forces(0, np.full((1, 2), np.nan))
    scene.step(H)
    scene.set_dof_forces(0, np.zeros((1, 2)))
    moving = [actor for actor in scene.actors if not actor.static]
    for actor in moving:
        assert not scene.valid.any()
        q = scene.to_host(scene_of(everything()).positions(actor.index), "test")
        scene.set_state(actor.index, q, np.zeros((1, actor.velocity_size)))
    assert scene.valid.all()


def test_setting_what_is_not_finite_makes_a_world_invalid() -> None:
    scene = scene_of(cartpole(), 2)
    scene.set_state(0, np.array([[0.0, np.nan], [0, 0]]), np.zeros((2, 2)))
    assert scene.valid.tolist() == [False, True]
    assert scene.step(H).status.tolist() == [-1, 0]


@pytest.mark.parametrize("integrator", ["semi_implicit", "backward_euler"])
def test_computing_all_worlds_or_only_some_gives_the_same(integrator: str) -> None:
    """The second way is that of CUDA; both can be gone on a CPU."""
    gathered, masked = (scene_of(cartpole(), 6, integrator=integrator) for _ in "ab")
    masked._stepper.gathers = False
    mask = np.array([True, True, False, True, False, True])
    forces = np.zeros((6, 2))
    forces[1] = np.nan
    for scene in (gathered, masked):
        scatter(scene)
        scene.configure("mass", np.linspace(1, 2, 12).reshape(6, 2))
        scene.step(H)
        scene.set_dof_forces(0, forces)
    for worlds in (mask, None, ~mask, mask):
        one, other = (scene.step(H, worlds) for scene in (gathered, masked))
        assert bits(gathered) == bits(masked)
        for name in ("status", "iterations", "residual", "valid"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        assert gathered.state_to_bytes(gathered.capture()) == masked.state_to_bytes(
            masked.capture()
        )
    assert gathered.valid.tolist() == [True, False, True, True, True, True]


def test_forces_of_zero_are_no_forces_to_the_last_bit() -> None:
    """A scene computes with forces from when some were set; no bit may tell when."""
    scene, pushed = scene_of(everything(), 2), scene_of(everything(), 2)
    for actor in pushed.actors:
        links, dofs = len(actor.links), actor.velocity_size
        pushed.set_dof_forces(actor.index, np.zeros((2, dofs)))
        pushed.set_link_wrenches(actor.index, np.zeros((2, links, 6)))
    for zero in (0.0, -0.0):
        for each in (scene, pushed):
            each.set_state(0, np.full((2, 2), zero), np.full((2, 2), zero))
            each.step(H)
        assert bits(scene) == bits(pushed)
    for each in (scene, pushed):
        scatter(each)
        for _ in range(20):
            each.step(H)
    assert bits(scene) == bits(pushed)


def test_views_follow_the_state() -> None:
    scene = scene_of(cartpole(), 3)
    scatter(scene)
    q = scene.positions(0)
    before = q.clone()
    scene.step(H)
    assert not torch.equal(q, before)
    assert torch.equal(q, scene.positions(0))


def test_what_does_not_fit_is_refused() -> None:
    scene = scene_of(cartpole(), 3)
    before = scene.capture()
    for attempt in (
        lambda: scene.set_state(0, np.zeros((3, 2)), np.zeros((3, 3))),
        lambda: scene.set_state(0, np.zeros((1, 2)), np.zeros((1, 2))),
        lambda: scene.set_state(1, np.zeros((3, 2)), np.zeros((3, 2))),
        lambda: scene.set_state(-1, np.zeros((3, 2)), np.zeros((3, 2))),
        lambda: scene.set_targets(0, np.zeros(3)),
        lambda: scene.set_targets(0, np.zeros((3, 1), bool)),
        lambda: scene.set_targets(0, [[0.0]] * 3),
        lambda: scene.set_dof_forces(0, np.zeros((3, 2)), np.ones(2, bool)),
        lambda: scene.set_dof_forces(0, np.zeros((3, 2)), np.ones(3)),
        lambda: scene.set_link_wrenches(0, np.zeros((3, 2, 5))),
        lambda: scene.step(H, np.ones((3, 1), bool)),
        lambda: scene.positions(7),
    ):
        with pytest.raises(SceneError):
            attempt()
    assert scene.is_equal(before, scene.capture())


def test_wrenches_act_on_links() -> None:
    scene = scene_of(everything(), 2)
    scene.configure("gravity", np.zeros(3))
    wrench = np.zeros((2, 1, 6))
    wrench[1, 0, 2] = 2.0  # on a crate of 2 kg
    scene.set_link_wrenches(1, wrench)
    for _ in range(10):
        scene.step(0.01)
    lifted = scene.read(1, "translationCom")[:, 2]
    assert lifted[0] == pytest.approx(1.0)
    assert lifted[1] == pytest.approx(1.0 + 0.5 * 0.1 * 0.11, rel=0.02)
