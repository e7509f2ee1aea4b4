"""Models for the tests of dynamics, small and random ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from hypothesis import strategies as st

from isoscope.gpu.dynamics.programs import RECIPES
from isoscope.gpu.dynamics.structure import SIMPLE, Numbers
from isoscope.gpu.model.build import build_tree
from isoscope.gpu.model.parameters import Parameters
from isoscope.gpu.model.spec import Actor, Drive, Joint, Link, Model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.gpu.model.tree import Tree

HALF = math.sqrt(0.5)


def cartpole() -> Model:
    cart = Link(
        name="cart",
        joint=Joint(name="slide", type="prismatic", axis=(1.0, 0.0, 0.0)),
        mass=1.0,
        inertia=(0.1, 0.1, 0.1, 0.0, 0.0, 0.0),
    )
    pole = Link(
        name="pole",
        parent="cart",
        joint=Joint(name="hinge", type="revolute", axis=(0.0, 1.0, 0.0)),
        mass=0.1,
        center=(0.0, 0.0, 0.5),
        inertia=(0.01, 0.01, 0.001, 0.0, 0.0, 0.0),
    )
    motor = Drive(name="motor", joint="slide", gear=10.0, control_limits=(-1.0, 1.0))
    return Model(
        name="cartpole",
        actors=(Actor(name="cartpole", links=(cart, pole), drives=(motor,)),),
    )


def pendulum(length: float = 0.7, mass: float = 1.3) -> Model:
    """A point mass on a massless rod that hangs at q = 0."""
    bob = Link(
        name="bob",
        joint=Joint(name="hinge", type="revolute", axis=(0.0, 1.0, 0.0)),
        mass=mass,
        center=(0.0, 0.0, -length),
    )
    return Model(name="pendulum", actors=(Actor(name="pendulum", links=(bob,)),))


def double_pendulum() -> Model:
    def rod(name: str, parent: str | None, z: float) -> Link:
        return Link(
            name=name,
            parent=parent,
            position=(0.0, 0.0, z),
            joint=Joint(name=f"{name} hinge", type="revolute", axis=(0.0, 1.0, 0.0)),
            mass=1.0,
            center=(0.0, 0.0, -0.25),
            inertia=(0.02, 0.02, 0.001, 0.0, 0.0, 0.0),
        )

    links = (rod("upper", None, 0.0), rod("lower", "upper", -0.5))
    return Model(name="double", actors=(Actor(name="double", links=links),))


def arm() -> Model:
    links = []
    for i in range(7):
        placed = ((0.0, -0.1, 0.2), (HALF, 0.0, 0.0, HALF))
        if i % 2 == 0:
            placed = ((0.0, 0.2, 0.1), (-HALF, 0.0, 0.0, HALF))
        if i == 0:
            placed = ((0.0, 0.0, 0.2), (0.0, 0.0, 0.0, 1.0))
        links.append(
            Link(
                name=f"link{i}",
                parent=f"link{i - 1}" if i else None,
                position=placed[0],
                rotation=placed[1],
                joint=Joint(
                    name=f"joint{i}", type="revolute", damping=0.5, armature=0.01
                ),
                mass=3.0 - 0.3 * i,
                center=(0.01, 0.03, 0.1),
                inertia=(0.02, 0.02, 0.01, 0.001, 0.0, 0.002),
            )
        )
    return Model(name="arm", actors=(Actor(name="arm", links=tuple(links)),))


def free_body(
    inertia: tuple[float, float, float] = (0.1, 0.2, 0.25),
    center: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> Model:
    body = Link(
        name="body",
        joint=Joint(type="free"),
        mass=2.0,
        center=center,
        inertia=(*inertia, 0.0, 0.0, 0.0),
    )
    return Model(name="free", actors=(Actor(name="body", links=(body,)),))


def floating_pair() -> Model:
    links = (
        Link(
            name="base",
            joint=Joint(type="free"),
            mass=2.0,
            center=(0.1, 0.0, -0.05),
            inertia=(0.1, 0.2, 0.25, 0.01, 0.0, 0.02),
        ),
        Link(
            name="tail",
            parent="base",
            position=(0.3, 0.1, 0.0),
            rotation=(0.0, HALF, 0.0, HALF),
            joint=Joint(name="tail", type="revolute", axis=(0.6, 0.8, 0.0)),
            mass=1.0,
            center=(0.0, 0.2, 0.1),
            inertia=(0.05, 0.04, 0.03, 0.0, 0.002, 0.0),
        ),
    )
    return Model(name="pair", actors=(Actor(name="pair", links=links),))


def forest() -> Model:
    """Three actors, every type of joint, branches, armature, a drive of each type."""
    first = [
        Link(
            name="base",
            joint=Joint(type="free", armature=0.01),
            mass=2.0,
            center=(0.1, 0.0, -0.05),
            inertia=(0.1, 0.2, 0.25, 0.01, 0.0, 0.02),
        ),
        Link(
            name="head",
            parent="base",
            position=(0.0, 0.1, 0.4),
            joint=Joint(name="neck", type="spherical", damping=0.2),
            mass=0.7,
            center=(0.0, 0.02, 0.1),
            inertia=(0.02, 0.03, 0.02, 0.0, 0.0, 0.0),
        ),
        Link(
            name="tail",
            parent="base",
            position=(0.3, 0.1, 0.0),
            rotation=(0.5, -0.5, 0.5, 0.5),
            joint=Joint(name="tail", type="revolute", axis=(0.6, 0.8, 0.0)),
            mass=1.0,
            center=(0.0, 0.2, 0.1),
            inertia=(0.05, 0.04, 0.03, 0.0, 0.002, 0.0),
        ),
        Link(
            name="tip",
            parent="tail",
            position=(0.0, 0.3, 0.0),
            mass=0.2,
            inertia=(0.001, 0.001, 0.001, 0.0, 0.0, 0.0),
        ),
    ]
    second = [
        Link(
            name="rail",
            rotation=(0.0, HALF, 0.0, HALF),
            joint=Joint(
                name="rail",
                type="prismatic",
                axis=(0.0, 0.0, 1.0),
                limits=(-0.1, 0.1),
                stiffness=3.0,
                rest=0.2,
            ),
            mass=1.0,
            inertia=(0.01, 0.01, 0.01, 0.0, 0.0, 0.0),
        ),
        Link(
            name="arm",
            parent="rail",
            joint=Joint(
                name="arm", type="revolute", axis=(0.0, 1.0, 0.0), armature=0.3
            ),
            mass=0.5,
            center=(0.2, 0.0, 0.0),
            inertia=(0.01, 0.01, 0.01, 0.0, 0.0, 0.0),
        ),
        Link(
            name="ball",
            parent="arm",
            position=(0.4, 0.0, 0.0),
            joint=Joint(name="ball", type="spherical"),
            mass=0.3,
            inertia=(0.01, 0.012, 0.014, 0.0, 0.0, 0.0),
        ),
    ]
    drives = (
        Drive(name="push", joint="rail", gear=-2.0, control_limits=(-1.0, 1.0)),
        Drive(
            name="hold",
            joint="arm",
            type="position",
            gear=3.0,
            stiffness=20.0,
            damping=2.0,
            force_limits=(-4.0, 4.0),
        ),
        Drive(name="spin", joint="arm", type="velocity", damping=0.5),
    )
    third = free_body().actors[0]
    return Model(
        name="forest",
        actors=(
            Actor(name="first", links=tuple(first)),
            Actor(name="second", links=tuple(second), drives=drives),
            third,
        ),
        gravity=(0.3, 0.0, -9.81),
    )


AXES = st.tuples(*[st.integers(-2, 2)] * 3).filter(any)
LENGTHS = st.integers(-4, 4).map(lambda n: n / 10)
OFFSETS = st.tuples(LENGTHS, LENGTHS, LENGTHS)
TURNS = st.tuples(*[st.integers(-2, 2)] * 4).filter(any)


def unit(values: Sequence[float]) -> tuple[Any, ...]:
    length = math.sqrt(sum(value * value for value in values))
    return tuple(value / length for value in values)


@st.composite
def random_models(draw: st.DrawFn, largest: int = 4) -> Model:
    """Any tree of up to `largest` links with all types of joints."""
    links = []
    for i in range(draw(st.integers(1, largest))):
        types = ["prismatic", "revolute", "spherical", "fixed"]
        kind: Any = draw(st.sampled_from(types if i else [*types, "free"]))
        a, b, c = (draw(st.integers(4, 6)) / 20 for _ in range(3))
        links.append(
            Link(
                name=f"link{i}",
                parent=f"link{draw(st.integers(0, i - 1))}" if i else None,
                position=draw(OFFSETS),
                rotation=unit(draw(TURNS)),
                joint=Joint(
                    name=f"joint{i}",
                    type=kind,
                    axis=unit(draw(AXES)),
                    armature=0.0 if kind == "fixed" else draw(st.integers(0, 1)) / 10,
                ),
                mass=draw(st.integers(1, 4)) / 2,
                center=draw(OFFSETS),
                inertia=(a, b, c, 0.01, draw(st.integers(-1, 1)) / 100, 0.0),
            )
        )
    gravity = draw(OFFSETS)
    return Model(
        name="random",
        actors=(Actor(name="random", links=tuple(links)),),
        gravity=gravity,
    )


def random_state(
    tree: Tree, worlds: int, dtype: torch.dtype = torch.float64, seed: int = 0
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Positions with unit quaternions, velocities, and one more [nv, W]."""
    generator = torch.Generator().manual_seed(seed)
    q = torch.randn(tree.nq, worlds, dtype=torch.float64, generator=generator)
    for link in tree.links:
        at = link.position_start + (3 if link.joint == "free" else 0)
        if link.joint in ("spherical", "free"):
            q[at : at + 4] /= q[at : at + 4].norm(dim=0)
    v = torch.randn(tree.nv, worlds, dtype=torch.float64, generator=generator)
    other = torch.randn(tree.nv, worlds, dtype=torch.float64, generator=generator)
    return q.to(dtype), v.to(dtype), other.to(dtype)


def varied(tree: Tree, worlds: int, seed: int = 0) -> Parameters:
    """Parameters that differ between worlds, all of them possible."""
    parameters = Parameters.from_tree(tree, worlds=worlds)
    generator = torch.Generator().manual_seed(seed)
    for name in ("mass", "center", "inertia", "damping", "armature", "gravity"):
        tensor = parameters[name]
        factor = torch.rand(1, worlds, dtype=torch.float64, generator=generator) + 0.5
        parameters = parameters.replaced(name, tensor * factor)
    return parameters


def reference(
    name: str, tree: Tree, parameters: Parameters, world: int, **inputs: torch.Tensor
) -> np.ndarray:
    """The same algorithm over plain Python floats, for one world."""

    def column(tensor: torch.Tensor) -> list[float]:
        if tensor.dim() == 0:
            return [float(tensor)]
        flat = tensor.reshape(-1, tensor.shape[-1])
        return flat[:, world if tensor.shape[-1] > 1 else 0].tolist()

    numbers = Numbers({key: column(parameters[key]) for key in SIMPLE})
    rows = {key: column(value) for key, value in inputs.items()}
    return np.array(RECIPES[name].compute(tree, numbers, rows))


def built(model: Model) -> tuple[Tree, Parameters]:
    tree = build_tree(model)
    return tree, Parameters.from_tree(tree)
