"""Gradients of rollouts against central differences, and when they are refused."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
import torch

from isoscope.gpu.dynamics.joint_forces import Control
from isoscope.gpu.gradients.errors import GradientError
from isoscope.gpu.gradients.rollout import Rollout, rollout_gradient
from isoscope.gpu.model.parameters import Parameters
from isoscope.gpu.model.spec import Actor, Joint, Link, Model, Shape
from isoscope.gpu.scene.make import make_scene

if TYPE_CHECKING:
    from isoscope.gpu.scene.scene import SimulatedScene

H = 0.02
STEPS = 20
INTEGRATORS = ("backward_euler", "semi_implicit")


def arm() -> Model:
    """Three links that turn about different axes."""
    axes = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0))
    links = tuple(
        Link(
            name=f"link{i}",
            parent=f"link{i - 1}" if i else None,
            position=(0.3, 0.0, 0.0) if i else (0.0, 0.0, 0.0),
            joint=Joint(name=f"joint{i}", type="revolute", axis=axis, damping=0.3),
            mass=1.0 + 0.2 * i,
            center=(0.15, 0.02, -0.03),
            inertia=(0.02, 0.02, 0.03, 0.001, 0.0, 0.002),
        )
        for i, axis in enumerate(axes)
    )
    return Model(name="arm", actors=(Actor(name="arm", links=links),))


def scene_of(model: Model | str, integrator: str, worlds: int = 2) -> SimulatedScene:
    settings: dict[str, Any] = {}
    if integrator == "backward_euler":
        # differences show what is left of the equations
        settings["integrator.tolerance_float64"] = 1e-13
    return make_scene(model, worlds, "cpu", "float64", integrator, settings=settings)


def started(
    scene: SimulatedScene, steps: int, seed: int = 0
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shapes = (
        (scene.worlds, scene.tree.nq),
        (scene.worlds, scene.tree.nv),
        (steps, scene.worlds, scene.tree.nv),
    )
    q, v, controls = (
        torch.randn(shape, dtype=torch.float64, generator=generator) for shape in shapes
    )
    return 0.3 * q, 0.5 * v, controls


def losses(q: torch.Tensor, v: torch.Tensor, controls: torch.Tensor) -> torch.Tensor:
    """Each world's loss, of states and controls with the time first, [W]."""
    weights = torch.arange(1, len(v) + 1, dtype=torch.float64) / len(v)
    every = (v**2).sum(2) + torch.sin(q).sum(2)
    return (weights[:, None] * every).sum(0) + 0.1 * (controls**2).sum((0, 2))


def loss_of(run: Rollout) -> torch.Tensor:
    return losses(run.q, run.v, run.controls).sum()


def column(tensor: torch.Tensor) -> torch.Tensor:
    """One world's numbers in a row of their own, [n]."""
    return tensor.reshape(-1)


def differences(
    scene: SimulatedScene,
    parts: dict[str, torch.Tensor],
    substeps: int,
    step: float = 1e-3,
) -> dict[str, torch.Tensor]:
    """Central differences of fourth order, every one a world of the same run.

    Parameters
    ----------
    parts
        ``q0``, ``v0``, ``controls`` of one world, and parameters, one column each.
    """
    flat = torch.cat([column(part) for part in parts.values()])
    offsets = step * torch.tensor([2.0, 1.0, -1.0, -2.0], dtype=torch.float64)
    count = len(flat)
    every = flat.repeat(4 * count, 1).reshape(count, 4, count)
    every[torch.arange(count), :, torch.arange(count)] += offsets
    cut = every.reshape(4 * count, count).split([p.numel() for p in parts.values()], 1)
    values = dict(zip(parts, cut, strict=True))
    worlds = 4 * count
    parameters = Parameters.from_tree(scene.tree, worlds=worlds)
    for name in parts.keys() - {"q0", "v0", "controls"}:
        parameters = parameters.replaced(name, values[name].t())
    q, v = values["q0"].t(), values["v0"].t()
    acts = values["controls"].reshape(worlds, -1, scene.tree.nv).transpose(0, 1)
    places, speeds = [q.t()], [v.t()]
    for act in acts:
        for _ in range(substeps):
            outcome = scene.machine.step(
                q, v, H, Control(forces=act.t().contiguous()), parameters
            )
            q, v = outcome.q, outcome.v
            places.append(q.t())
            speeds.append(v.t())
    found = losses(torch.stack(places), torch.stack(speeds), acts).reshape(count, 4)
    weights = torch.tensor([-1.0, 8.0, -8.0, 1.0], dtype=torch.float64)
    slopes = (found * weights).sum(1) / (12 * step)
    return dict(
        zip(parts, slopes.split([p.numel() for p in parts.values()]), strict=True)
    )


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("substeps", [1, 2])
@pytest.mark.parametrize("model", ["cartpole", "arm"])
def test_gradients_agree_with_differences(
    model: str, substeps: int, integrator: str
) -> None:
    scene = scene_of(arm() if model == "arm" else model, integrator, worlds=1)
    q0, v0, controls = started(scene, STEPS)
    names = ("mass", "damping", "gravity", "armature", "inertia")
    result = rollout_gradient(
        scene, q0, v0, controls, loss_of, h_s=H, substeps=substeps, parameters=names
    )
    parts = {"q0": q0, "v0": v0, "controls": controls}
    # differences may not go below zero mass, nor make an impossible inertia
    parts |= {name: scene.parameters[name] for name in ("mass", "damping", "gravity")}
    expected = differences(scene, parts, substeps)
    for name, slopes in expected.items():
        found = result.parameters.get(name, getattr(result, name, None))
        assert found is not None
        error = (column(found) - slopes).norm() / slopes.norm()
        assert error < 1e-6, (name, error)
    assert result.parameters["armature"].abs().min() > 0
    assert (
        result.loss == losses(result.rollout.q, result.rollout.v, controls).sum().item()
    )


def test_worlds_have_gradients_of_their_own() -> None:
    torch.set_num_threads(1)
    both, alone = (scene_of("cartpole", "backward_euler", n) for n in (2, 1))
    q0, v0, controls = started(both, 4)
    whole = rollout_gradient(
        both, q0, v0, controls, loss_of, h_s=H, parameters=("mass",)
    )
    parts = [
        rollout_gradient(
            alone,
            q0[w : w + 1],
            v0[w : w + 1],
            controls[:, w : w + 1],
            loss_of,
            h_s=H,
            parameters=("mass",),
        )
        for w in range(2)
    ]
    assert torch.equal(whole.q0, torch.cat([part.q0 for part in parts]))
    assert torch.equal(whole.controls, torch.cat([p.controls for p in parts], 1))
    total = parts[0].parameters["mass"] + parts[1].parameters["mass"]
    torch.testing.assert_close(whole.parameters["mass"], total)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_the_rollout_is_what_the_scene_steps(integrator: str) -> None:
    torch.set_num_threads(1)
    scene = scene_of("cartpole", integrator)
    q0, v0, controls = started(scene, 3)
    result = rollout_gradient(scene, q0, v0, controls, loss_of, h_s=H, substeps=2)
    scene.set_state(0, q0, v0)
    for act in controls:
        scene.set_dof_forces(0, act)
        for _ in range(2):
            scene.step(H)
    assert torch.equal(result.rollout.q[-1], scene.positions(0))
    assert torch.equal(result.rollout.v[-1], scene.velocities(0))


def recorded(integrator: str) -> tuple[Any, ...]:
    scene = scene_of("cartpole", integrator)
    q0, v0, controls = started(scene, 3)
    run = rollout_gradient(scene, q0, v0, controls, loss_of, h_s=H, substeps=2)
    return scene, q0, v0, controls, run


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_recorded_states_give_the_same(integrator: str) -> None:
    scene, q0, v0, controls, run = recorded(integrator)
    again = rollout_gradient(
        scene,
        q0,
        v0,
        controls,
        loss_of,
        h_s=H,
        substeps=2,
        states=(run.rollout.q, run.rollout.v),
    )
    torch.testing.assert_close(again.q0, run.q0)
    torch.testing.assert_close(again.controls, run.controls)


def test_control_steps_without_their_inner_states_are_refused() -> None:
    scene, q0, v0, controls, run = recorded("backward_euler")
    with pytest.raises(
        GradientError, match="2 native steps, and only its ends"
    ) as told:
        rollout_gradient(
            scene,
            q0,
            v0,
            controls,
            loss_of,
            h_s=H,
            substeps=2,
            states=(run.rollout.q[::2], run.rollout.v[::2]),
        )
    assert [refusal.reason for refusal in told.value.refusals] == ["state-pairs"]


def test_states_of_another_rollout_are_refused() -> None:
    scene, q0, v0, controls, run = recorded("backward_euler")
    wrong = run.rollout.v.clone()
    wrong[2, 1, 0] += 1e-3
    with pytest.raises(GradientError, match="step 1, world 1: the recorded state"):
        rollout_gradient(
            scene,
            q0,
            v0,
            controls,
            loss_of,
            h_s=H,
            substeps=2,
            states=(run.rollout.q, wrong),
        )


def ball(height: float, friction: float = 0.5) -> Model:
    body = Link(
        name="ball",
        position=(0.0, 0.0, height),
        joint=Joint(type="free"),
        mass=1.0,
        inertia=(0.004, 0.004, 0.004, 0.0, 0.0, 0.0),
        shapes=(Shape(name="ball", type="sphere", size=(0.1,), friction=friction),),
    )
    ground = Shape(name="ground", type="plane", size=(), friction=friction)
    return Model(
        name="ball", actors=(Actor(name="ball", links=(body,)),), shapes=(ground,)
    )


def dropped(scene: SimulatedScene, speed: float, steps: int = 6, **given: Any) -> Any:
    q0 = torch.tensor([scene.tree.start], dtype=torch.float64)
    v0 = torch.zeros(1, 6, dtype=torch.float64)
    v0[0, 2] = speed
    controls = torch.zeros(steps, 1, 6, dtype=torch.float64)
    return rollout_gradient(scene, q0, v0, controls, loss_of, h_s=0.01, **given)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_contact_that_begins_is_refused(integrator: str) -> None:
    scene = scene_of(ball(0.13), integrator, worlds=1)
    with pytest.raises(GradientError, match="a point begins or ceases") as told:
        dropped(scene, -1.0)
    assert told.value.refusals[0].reason == "contact-switch"
    assert told.value.refusals[0].worlds == (0,)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_contact_that_lasts_is_differentiated(integrator: str) -> None:
    scene = scene_of(ball(0.0995), integrator, worlds=1)
    found = dropped(scene, -0.01)
    q0 = torch.tensor([scene.tree.start], dtype=torch.float64)
    v0 = torch.zeros(1, 6, dtype=torch.float64)
    v0[0, 2] = -0.01
    controls = torch.zeros(6, 1, 6, dtype=torch.float64)
    slopes = []
    for sign in (1.0, -1.0):
        moved = v0.clone()
        moved[0, 2] += sign * 1e-5
        slopes.append(
            rollout_gradient(scene, q0, moved, controls, loss_of, h_s=0.01).loss
        )
    expected = (slopes[0] - slopes[1]) / 2e-5
    assert found.v0[0, 2].item() == pytest.approx(expected, rel=1e-6)


def test_clipped_actions_are_refused() -> None:
    scene = scene_of("cartpole", "backward_euler")
    q0, v0, controls = started(scene, 2)
    controls[1, 1, 0] = 3.0
    with pytest.raises(GradientError, match="step 1, world 1: the action is clipped"):
        rollout_gradient(
            scene, q0, v0, controls, loss_of, h_s=H, action_limits=(-3.0, 3.0)
        )


def test_clipped_drives_are_refused() -> None:
    scene = scene_of("cartpole", "backward_euler", worlds=1)
    q0, v0, _ = started(scene, 1)
    scene.configure("drive_force_upper", torch.tensor([2.0]).double().numpy())
    targets = torch.tensor([[[2.5]]], dtype=torch.float64)
    with pytest.raises(GradientError, match="a drive's control or force is clipped"):
        rollout_gradient(scene, q0, v0, targets, loss_of, h_s=H, acting="targets")


def test_steps_that_did_not_converge_are_refused() -> None:
    settings = {"integrator.max_iterations": 1}
    scene = make_scene("double_pendulum_rail", 1, "cpu", "float64", settings=settings)
    q0, v0, controls = started(scene, 2)
    with pytest.raises(GradientError, match="did not converge") as told:
        rollout_gradient(scene, q0, 8 * v0, controls, loss_of, h_s=H)
    assert {refusal.reason for refusal in told.value.refusals} == {"unconverged"}


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_states_that_are_not_finite_are_refused(integrator: str) -> None:
    scene = scene_of("cartpole", integrator)
    q0, v0, controls = started(scene, 2)
    controls[0, 1, 0] = math.nan
    with pytest.raises(GradientError, match="step 0, world 1: the state is not finite"):
        rollout_gradient(scene, q0, v0, controls, loss_of, h_s=H)


def test_single_precision_and_other_shapes_are_refused() -> None:
    scene = make_scene("cartpole", 1, "cpu", "float32")
    q0, v0, controls = started(scene, 2)
    with pytest.raises(GradientError, match="not in float64") as told:
        rollout_gradient(scene, q0[:, :1], v0.float(), controls, loss_of, h_s=H)
    reasons = [refusal.reason for refusal in told.value.refusals]
    assert reasons == ["input", "precision", "precision"]
