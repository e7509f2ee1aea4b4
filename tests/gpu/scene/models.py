"""Models and scenes for the tests of scenes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.gpu.model.build import build_tree
from isoscope.gpu.model.spec import Actor, Drive, Joint, Link, Model, Shape
from isoscope.gpu.scene.make import integrator_settings, make_machine, make_scene
from isoscope.gpu.scene.scene import SimulatedScene

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

    from isoscope.gpu.dynamics.joint_forces import Control
    from isoscope.gpu.integrators.base import StepOutcome
    from isoscope.gpu.model.parameters import Parameters
    from isoscope.gpu.model.tree import Tree
    from isoscope.gpu.scene.machine import Machine, Setting
    from isoscope.gpu.transfer import Ledger

H = 0.004
STUCK = 1e3  # a target above it makes the faulty machine stop unconverged


def cartpole_actor(name: str = "CartPole") -> Actor:
    cart = Link(
        name="Cart",
        joint=Joint(name="slide", type="prismatic", axis=(1.0, 0.0, 0.0), damping=0.05),
        mass=16.0,
        inertia=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0),
    )
    pole = Link(
        name="Pole",
        parent="Cart",
        joint=Joint(name="hinge", type="revolute", axis=(0.0, 1.0, 0.0), damping=0.05),
        mass=1.25,
        center=(0.0, 0.0, 0.5),
        inertia=(0.104, 0.104, 0.001, 0.0, 0.0, 0.0),
    )
    push = Drive(name="push", joint="slide", gear=10.0)
    return Actor(name=name, links=(cart, pole), drives=(push,))


def cartpole() -> Model:
    return Model(name="cartpole", gravity=(0.0, 0.0, -9.8), actors=(cartpole_actor(),))


def crate(name: str = "Crate", height: float = 1.0) -> Actor:
    body = Link(
        name="Body",
        position=(0.2, 0.0, height),
        joint=Joint(type="free"),
        mass=2.0,
        center=(0.01, 0.02, 0.0),
        inertia=(0.02, 0.03, 0.04, 0.002, 0.001, -0.003),
        shapes=(Shape(name="sides", type="box", size=(0.1, 0.15, 0.1)),),
    )
    return Actor(name=name, links=(body,))


def ball(height: float = 0.3) -> Actor:
    body = Link(
        name="Body",
        position=(-1.0, 0.0, height),
        joint=Joint(type="free"),
        mass=1.0,
        inertia=(0.004, 0.004, 0.004, 0.0, 0.0, 0.0),
        shapes=(Shape(name="skin", type="sphere", size=(0.1,)),),
    )
    return Actor(name="Ball", links=(body,))


def arm() -> Actor:
    """A spherical shoulder and an elbow that a drive holds."""
    upper = Link(
        name="Upper",
        position=(0.0, 2.0, 1.0),
        joint=Joint(name="shoulder", type="spherical", damping=0.1),
        mass=1.0,
        center=(0.0, 0.0, -0.2),
        inertia=(0.02, 0.02, 0.004, 0.0, 0.0, 0.0),
    )
    lower = Link(
        name="Lower",
        parent="Upper",
        position=(0.0, 0.0, -0.4),
        joint=Joint(name="elbow", type="revolute", axis=(0.0, 1.0, 0.0)),
        mass=0.5,
        center=(0.0, 0.0, -0.2),
        inertia=(0.01, 0.01, 0.002, 0.0, 0.0, 0.0),
    )
    hold = Drive(
        name="hold", joint="elbow", type="position", stiffness=5.0, damping=0.5
    )
    return Actor(name="Arm", links=(upper, lower), drives=(hold,))


def pedestal() -> Actor:
    return Actor(
        name="Pedestal", links=(Link(name="Body", position=(5.0, 0.0, 0.0), mass=3.0),)
    )


def everything() -> Model:
    """Joints of all types, drives, a thing that stands still, and ground to fall on."""
    ground = Shape(name="Ground", type="plane")
    return Model(
        name="everything",
        gravity=(0.0, 0.0, -9.8),
        actors=(cartpole_actor(), crate(), pedestal(), arm(), ball()),
        shapes=(ground,),
    )


def scene_of(model: Model, worlds: int = 1, **options: Any) -> SimulatedScene:
    options.setdefault("integrator", "semi_implicit")
    return make_scene(model, worlds, "cpu", **options)


def faulty_scene(model: Model, worlds: int = 1) -> SimulatedScene:
    """A scene in which a first drive's target above STUCK stops a world unconverged."""
    return SimulatedScene(
        "faulty",
        build_tree(model),
        _faulty_machine,
        worlds=worlds,
        device="cpu",
        settings=integrator_settings("semi_implicit"),
    )


def _faulty_machine(
    tree: Tree,
    parameters: Parameters,
    settings: Mapping[str, Setting],
    ledger: Ledger,
) -> Machine:
    machine = make_machine(tree, parameters, settings, ledger)

    def step(
        q: torch.Tensor,
        v: torch.Tensor,
        h: float,
        control: Control,
        parameters: Parameters,
    ) -> StepOutcome:
        outcome = machine.step(q, v, h, control, parameters)
        assert control.targets is not None
        stuck = control.targets[0] > STUCK
        return replace(outcome, status=outcome.status.masked_fill(stuck, 1))

    return replace(machine, step=step)


def scatter(scene: SimulatedScene, seed: int = 0) -> None:
    """Give each world its own state; quaternions have length 1."""
    numbers = np.random.default_rng(seed)
    for actor in scene.actors:
        q = scene.to_host(scene.positions(actor.index), "test")
        q = q + numbers.uniform(-0.1, 0.1, q.shape)
        if actor.name == "Arm":
            q[:, :4] /= np.linalg.norm(q[:, :4], axis=1, keepdims=True)
        elif actor.position_size == 7:
            q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1, keepdims=True)
        v = numbers.uniform(-1, 1, (scene.worlds, actor.velocity_size))
        scene.set_state(actor.index, q, v)


def give(scene: SimulatedScene, source: SimulatedScene, world: int) -> None:
    """Give a scene of one world the state of one of another's."""
    for actor in scene.actors:
        scene.set_state(
            actor.index,
            source.positions(actor.index)[world : world + 1],
            source.velocities(actor.index)[world : world + 1],
        )


def bits(scene: SimulatedScene, world: int | None = None) -> bytes:
    """All positions and velocities, or one world's, bit by bit."""
    parts = [
        scene.to_host(array, "test")[slice(None) if world is None else world].tobytes()
        for actor in scene.actors
        for array in (scene.positions(actor.index), scene.velocities(actor.index))
    ]
    return b"".join(parts)
