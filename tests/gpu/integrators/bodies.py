"""Bodies that touch, for the tests of integrators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.gpu.model.spec import Actor, Joint, Link, Model, Shape

if TYPE_CHECKING:
    from isoscope.gpu.model.spec import Vector

ACROSS = (0.0, 0.5**0.5, 0.0, 0.5**0.5)


def body(
    name: str,
    kind: Any,
    size: tuple[float, ...],
    position: Vector,
    *,
    mass: float = 1.0,
    friction: float = 0.6,
    rotation: Any = (0.0, 0.0, 0.0, 1.0),
    mask: int = 1,
) -> Actor:
    """A free body of one shape, about as heavy to turn as a box of its size."""
    half = max(size)
    turning = mass * 2 * half * half / 3
    shape = Shape(
        name=name, type=kind, size=size, friction=friction, rotation=rotation, mask=mask
    )
    link = Link(
        name=name,
        position=position,
        joint=Joint(type="free"),
        mass=mass,
        inertia=(turning, turning, turning, 0.0, 0.0, 0.0),
        shapes=(shape,),
    )
    return Actor(name=name, links=(link,))


def box(name: str, position: Vector, half: float = 0.1, **given: Any) -> Actor:
    return body(name, "box", (half, half, half), position, **given)


def capsule(name: str, position: Vector, **given: Any) -> Actor:
    """Lying along x: radius 0.1, 0.4 long."""
    return body(name, "capsule", (0.1, 0.1), position, rotation=ACROSS, **given)


def on_ground(
    *actors: Actor,
    gravity: Vector = (0.0, 0.0, -9.81),
    friction: float = 0.6,
    **given: Any,
) -> Model:
    ground = Shape(name="ground", type="plane", size=(), friction=friction)
    return Model(
        name="bodies", actors=actors, shapes=(ground,), gravity=gravity, **given
    )
