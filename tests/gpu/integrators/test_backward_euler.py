"""Backward Euler: its equations, closed forms, statuses, settings, bits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from isoscope.gpu.contact.contacts import Contacts
from isoscope.gpu.dynamics.dynamics import Dynamics
from isoscope.gpu.dynamics.joint_forces import NO_CONTROL, Control
from isoscope.gpu.errors import ParameterError
from isoscope.gpu.integrators.backward_euler import (
    BackwardEuler,
    BackwardEulerSettings,
)
from isoscope.gpu.integrators.linearised import BackwardEulerResidual
from isoscope.gpu.model.build import build_tree
from isoscope.gpu.model.parameters import Parameters
from isoscope.gpu.model.spec import Actor, Joint, Link, Model
from isoscope.gpu.scene.make import make_scene
from isoscope.gpu.transfer import Ledger
from tests.gpu.dynamics.models import (
    arm,
    built,
    cartpole,
    double_pendulum,
    forest,
    free_body,
    random_models,
    random_state,
    varied,
)
from tests.gpu.integrators.bodies import box, capsule, on_ground

if TYPE_CHECKING:
    from isoscope.gpu.integrators.base import StepOutcome

SHARP = BackwardEulerSettings(tolerance_float64=1e-13)


def stepper(model: Model, chosen: BackwardEulerSettings = SHARP) -> BackwardEuler:
    tree, parameters = built(model)
    contacts = Contacts(tree)
    return BackwardEuler(
        Dynamics(tree, parameters), contacts if contacts.points else None, chosen
    )


def slider(stiffness: float = 0.0, damping: float = 0.0) -> Model:
    """A mass of 2 kg on a level rail, with a spring to 0 and friction."""
    mass = Link(
        name="mass",
        joint=Joint(
            name="rail",
            type="prismatic",
            axis=(1.0, 0.0, 0.0),
            stiffness=stiffness,
            damping=damping,
        ),
        mass=2.0,
        inertia=(0.1, 0.1, 0.1, 0.0, 0.0, 0.0),
    )
    return Model(name="slider", actors=(Actor(name="slider", links=(mass,)),))


@pytest.mark.parametrize("h", [0.01, 1.0, 100.0])
def test_a_damped_spring_takes_the_steps_of_its_closed_form(h: float) -> None:
    # m (v' - v) / h = -k (q + h v') - d v'
    k, d, m = 400.0, 3.0, 2.0
    model = slider(k, d)
    _, parameters = built(model)
    integrator = stepper(model)
    q = torch.tensor([[0.3]], dtype=torch.float64)
    v = torch.tensor([[-1.2]], dtype=torch.float64)
    for _ in range(5):
        expected = (m * v / h - k * q) / (m / h + d + h * k)
        outcome = integrator.step(q, v, h, NO_CONTROL, parameters)
        torch.testing.assert_close(outcome.v, expected, rtol=1e-12, atol=1e-14)
        torch.testing.assert_close(outcome.q, q + h * expected, rtol=1e-12, atol=1e-13)
        assert outcome.status.tolist() == [0]
        assert outcome.iterations.tolist() == [1]
        q, v = outcome.q, outcome.v


@settings(max_examples=12, deadline=None)
@given(random_models(), st.integers(0, 5), st.sampled_from([1e-5, 1e-3, 0.02]))
def test_the_equations_hold_after_a_step(model: Model, seed: int, h: float) -> None:
    tree, parameters = built(model)
    if not tree.nv:
        return
    integrator = stepper(model)
    q, v, force = random_state(tree, 3, seed=seed)
    control = Control(forces=force)
    outcome = integrator.step(q, v, h, control, parameters)
    assert outcome.status.tolist() == [0, 0, 0]
    left, _ = integrator.equations(q, v, h, control, parameters).value(outcome.v)
    scale = integrator.dynamics.mass_matrix(q, parameters).abs().amax((0, 1)) / h
    assert (left.abs() / (scale * (1 + outcome.v.abs().amax(0)))).max() < 1e-9
    torch.testing.assert_close(
        outcome.q, integrator.dynamics.integrate(q, outcome.v, h, parameters)
    )


@pytest.mark.parametrize("make", [cartpole, double_pendulum, arm, forest])
def test_the_jacobian_is_that_of_the_residual(make: object) -> None:
    assert callable(make)
    tree, _ = built(make())
    parameters = varied(tree, 4)
    q, v, force = random_state(tree, 4)
    check_jacobian(Dynamics(tree, parameters), None, q, v, force, parameters)


@pytest.mark.parametrize("seed", range(4))
def test_the_jacobian_has_contact_in_it(seed: int) -> None:
    model = on_ground(
        box("a", (0.0, 0.0, 0.098)),
        box("b", (0.03, 0.0, 0.295)),
        capsule("c", (0.5, 0.0, 0.097)),
    )
    tree = build_tree(model)
    parameters = Parameters.from_tree(tree, worlds=3)
    generator = torch.Generator().manual_seed(seed)
    q = torch.tensor(tree.start, dtype=torch.float64)[:, None].repeat(1, 3)
    v = 0.05 * torch.randn(tree.nv, 3, dtype=torch.float64, generator=generator)
    # in one world all are far from each other
    q[[2, 9, 16], 1] += torch.tensor([5.0, 10.0, 15.0], dtype=torch.float64)
    force = torch.zeros_like(v)
    contacts = Contacts(tree)
    matrix = check_jacobian(
        Dynamics(tree, parameters), contacts, q, v, force, parameters
    )
    stiff = matrix.abs().amax((0, 1))
    assert stiff[0] > 2 * stiff[1]


def check_jacobian(
    dynamics: Dynamics,
    contacts: Contacts | None,
    q: torch.Tensor,
    v: torch.Tensor,
    force: torch.Tensor,
    parameters: Parameters,
) -> torch.Tensor:
    """Compare with central differences."""
    h = 0.01
    equations = BackwardEulerResidual(
        dynamics, contacts, q, v, h, Control(forces=force), parameters
    )
    x = v + 0.01 * force
    residual, matrix = equations.linearise(x, None)
    torch.testing.assert_close(residual, equations.value(x)[0], rtol=1e-12, atol=1e-9)
    for j in range(len(x)):
        moved = torch.zeros_like(x)
        moved[j] = 1e-6
        above, below = (equations.value(x + sign * moved)[0] for sign in (1, -1))
        slope = (above - below) / 2e-6
        scale = matrix.abs().amax((0, 1))
        assert ((matrix[:, j] - slope).abs() / scale).max() < 1e-6
    return matrix


def test_errors_shrink_in_proportion_to_the_step() -> None:
    """Against ten times shorter steps; backward Euler is of first order."""
    model = double_pendulum()
    _, parameters = built(model)
    integrator = stepper(model)

    def end(steps: int) -> torch.Tensor:
        q = torch.tensor([[0.8], [-0.4]], dtype=torch.float64)
        v = torch.zeros_like(q)
        for _ in range(steps):
            outcome = integrator.step(q, v, 0.2 / steps, NO_CONTROL, parameters)
            q, v = outcome.q, outcome.v
        return torch.cat((q, v))

    exact = end(640)
    errors = [(end(steps) - exact).norm().item() for steps in (20, 40, 80)]
    assert 1.6 < errors[0] / errors[1] < 2.6
    assert 1.6 < errors[1] / errors[2] < 2.6


def test_a_falling_body_falls() -> None:
    model = free_body(center=(0.1, 0.0, 0.2))
    _, parameters = built(model)
    q = torch.tensor([[0.0, 0, 5, 0, 0, 0, 1]], dtype=torch.float64).t()
    v = torch.zeros(6, 1, dtype=torch.float64)
    integrator = stepper(model)
    for _ in range(10):
        outcome = integrator.step(q, v, 0.02, NO_CONTROL, parameters)
        q, v = outcome.q, outcome.v
    assert v[2].item() == pytest.approx(-9.81 * 0.2, rel=1e-12)
    assert v[3:].abs().max() < 1e-12


def test_single_precision_is_as_good_as_it_can_be() -> None:
    model = cartpole()
    tree, parameters = built(model)
    q, v, force = random_state(tree, 50)
    control = Control(forces=force)
    fine = stepper(model).step(q, v, 0.02, control, parameters)
    rough = stepper(model).step(
        q.float(),
        v.float(),
        0.02,
        Control(forces=force.float()),
        parameters.to(dtype=torch.float32),
    )
    assert rough.status.unique().tolist() == [0]
    assert rough.v.dtype == torch.float32
    # a speed can't be known better than the positions that it leads to
    unsure = 16 * torch.finfo(torch.float32).eps * q.abs().amax(0) / 0.02
    apart = (rough.v - fine.v).abs() / (1 + fine.v.abs())
    assert (apart <= 2e-4 + 2 * unsure).all()


def test_a_world_that_is_not_finite_leaves_the_others_alone() -> None:
    torch.set_num_threads(1)
    tree, parameters = built(cartpole())
    integrator = stepper(cartpole())
    q, v, force = random_state(tree, 5)
    clean = integrator.step(q, v, 0.02, Control(forces=force), parameters)
    for bad in (math.nan, math.inf, -math.inf):
        spoilt = force.clone()
        spoilt[0, 3] = bad
        outcome = integrator.step(q, v, 0.02, Control(forces=spoilt), parameters)
        assert outcome.status.tolist() == [0, 0, 0, 2, 0]
        keep = [0, 1, 2, 4]
        assert torch.equal(outcome.q[:, keep], clean.q[:, keep])
        assert torch.equal(outcome.iterations[keep], clean.iterations[keep])


def test_a_world_at_the_cap_is_stopped() -> None:
    model = double_pendulum()
    tree, parameters = built(model)
    capped = stepper(model, BackwardEulerSettings(max_iterations=1, max_halvings=0))
    q, v, _ = random_state(tree, 2)
    v = v * 10
    q[:, 0], v[:, 0] = 0.0, 0.0  # at rest, where it hangs
    outcome = capped.step(q, v, 0.05, NO_CONTROL, parameters)
    assert outcome.status.tolist() == [0, 1]
    assert outcome.iterations.tolist() == [1, 1]
    assert outcome.residual[1] > 1e-9


def test_inputs_are_left_as_they_are() -> None:
    tree, parameters = built(forest())
    q, v, force = random_state(tree, 4)
    before = [part.clone() for part in (q, v, force)]
    stepper(forest()).step(q, v, 0.01, Control(forces=force), parameters)
    assert all(torch.equal(a, b) for a, b in zip(before, (q, v, force), strict=True))


def test_read_backs_are_booked_and_rarer_where_that_is_asked_for() -> None:
    torch.set_num_threads(1)
    model = double_pendulum()
    tree, parameters = built(model)
    q, v, _ = random_state(tree, 3)
    outcomes, waits = [], []
    for every in (1, 4):
        ledger = Ledger()
        integrator = BackwardEuler(
            Dynamics(tree, parameters),
            None,
            BackwardEulerSettings(check_every=every),
            ledger,
        )
        outcomes.append(integrator.step(q, 3 * v, 0.02, NO_CONTROL, parameters))
        waits.append(ledger.by_cause()["newton-status"].syncs)
    assert same(outcomes[0], outcomes[1], ("q", "v", "status", "iterations"))
    # and once whether any world has to be stepped again
    assert waits[0] == outcomes[0].iterations.max() + 1
    assert waits[1] == 1 + 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"tolerance_float64": 0.0},
        {"tolerance_float32": 2.0},
        {"tolerance_float64": math.nan},
        {"max_iterations": 0},
        {"check_every": -1},
        {"max_halvings": -1},
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match="setting "):
        BackwardEulerSettings(**wrong)  # type: ignore[arg-type]


def test_what_cannot_move_stays() -> None:
    fixed = Link(name="post", mass=1.0, inertia=(0.1, 0.1, 0.1, 0.0, 0.0, 0.0))
    model = Model(name="post", actors=(Actor(name="post", links=(fixed,)),))
    _, parameters = built(model)
    nothing = torch.zeros(0, 3, dtype=torch.float64)
    outcome = stepper(model).step(nothing, nothing, 0.01, NO_CONTROL, parameters)
    assert outcome.status.tolist() == [0, 0, 0]


def touching(worlds: int) -> tuple[Model, Parameters, torch.Tensor, torch.Tensor]:
    """A box and a capsule, in each world at another height, some in contact."""
    model = on_ground(box("a", (0.0, 0.0, 0.1)), capsule("c", (0.05, 0.0, 0.31)))
    tree = build_tree(model)
    generator = torch.Generator().manual_seed(1)
    q = torch.tensor(tree.start, dtype=torch.float64)[:, None].repeat(1, worlds)
    lifted = 0.02 * torch.rand(worlds, dtype=torch.float64, generator=generator)
    q[2] += lifted
    q[9] += lifted - 0.012
    v = 0.2 * torch.randn(tree.nv, worlds, dtype=torch.float64, generator=generator)
    parameters = Parameters.from_tree(tree, worlds=worlds)
    scale = 1 + torch.rand(1, worlds, dtype=torch.float64, generator=generator)
    return model, parameters.replaced("mass", parameters.mass * scale), q, v


def same(
    a: StepOutcome,
    b: StepOutcome,
    names: tuple[str, ...] = ("q", "v", "status", "iterations", "residual"),
) -> bool:
    return all(torch.equal(getattr(a, name), getattr(b, name)) for name in names)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_bits_do_not_depend_on_the_other_worlds(dtype: torch.dtype) -> None:
    torch.set_num_threads(1)
    model, parameters, q, v = touching(64)
    parameters, q, v = parameters.to(dtype=dtype), q.to(dtype), v.to(dtype)
    integrator = stepper(model, BackwardEulerSettings())
    whole = integrator.step(q, v, 0.01, NO_CONTROL, parameters)
    whole = integrator.step(whole.q, whole.v, 0.01, NO_CONTROL, parameters)
    assert len(whole.iterations.unique()) > 1
    for world in (0, 17, 63):
        part = parameters.block(world, world + 1)
        here = slice(world, world + 1)
        alone = integrator.step(
            q[:, here].contiguous(), v[:, here].contiguous(), 0.01, NO_CONTROL, part
        )
        alone = integrator.step(alone.q, alone.v, 0.01, NO_CONTROL, part)
        assert torch.equal(alone.q[:, 0], whole.q[:, world])
        assert torch.equal(alone.v[:, 0], whole.v[:, world])
        assert torch.equal(alone.residual[0], whole.residual[world])


@pytest.mark.parametrize("size", [1, 4])
def test_bits_do_not_depend_on_blocks_nor_on_a_second_time(size: int) -> None:
    torch.set_num_threads(1)
    model, parameters, q, v = touching(6)
    scenes = [
        make_scene(model, 6, "cpu", "float64", block_worlds=blocks)
        for blocks in (None, size)
    ]
    ends = []
    for scene in scenes:
        scene.configure("mass", parameters.mass.t().numpy())
        scene.set_state(0, q[:7].t(), v[:6].t())
        scene.set_state(1, q[7:].t(), v[6:].t())
        start = scene.capture()
        for _ in range(2):
            scene.restore(start)
            report = scene.step(0.01)
            ends.append((scene.positions(1).clone(), scene.velocities(1).clone()))
        assert len(set(report.iterations.tolist())) > 1
    assert all(
        torch.equal(a, b) for end in ends for a, b in zip(ends[0], end, strict=True)
    )


def thrown(worlds: int) -> tuple[Model, torch.Tensor, torch.Tensor]:
    """A capsule that meets the ground at some 4 m/s, askew and spinning."""
    model = on_ground(capsule("c", (0.0, 0.0, 0.1)))
    generator = torch.Generator().manual_seed(7)
    q = torch.tensor(build_tree(model).start, dtype=torch.float64)
    q = q[:, None].repeat(1, worlds)
    tilt = 0.2 * torch.randn(worlds, dtype=torch.float64, generator=generator)
    q[4], q[6] = torch.sin(tilt / 2), torch.cos(tilt / 2)
    v = 2 * torch.randn(6, worlds, dtype=torch.float64, generator=generator)
    v[2] -= 4.0
    return model, q, v


def test_a_step_that_is_too_long_to_be_solved_is_halved() -> None:
    torch.set_num_threads(1)
    model, q, v = thrown(16)
    tree, parameters = built(model)
    whole, halved = (
        BackwardEuler(
            Dynamics(tree, parameters), Contacts(tree), BackwardEulerSettings(**given)
        )
        for given in ({"max_halvings": 0}, {})
    )
    before = whole.step(q, v, 0.01, NO_CONTROL, parameters)
    after = halved.step(q, v, 0.01, NO_CONTROL, parameters)
    failed = before.status != 0
    assert 0 < failed.sum() < 16
    assert after.status.tolist() == [0] * 16
    # who needed no halves is as before, and the others as they are alone
    assert torch.equal(after.v[:, ~failed], before.v[:, ~failed])
    assert (after.iterations[failed] > before.iterations[failed]).all()
    world = int(failed.nonzero()[0])
    here = slice(world, world + 1)
    alone = halved.step(
        q[:, here].contiguous(), v[:, here].contiguous(), 0.01, NO_CONTROL, parameters
    )
    assert torch.equal(alone.v[:, 0], after.v[:, world])
    assert torch.equal(alone.contacts.force[..., 0], after.contacts.force[..., world])
    # two halves that the equations have a solution of, one after the other
    first = halved.step(q[:, here], v[:, here], 0.005, NO_CONTROL, parameters)
    second = halved.step(first.q, first.v, 0.005, NO_CONTROL, parameters)
    assert torch.equal(second.v[:, 0], after.v[:, world])
