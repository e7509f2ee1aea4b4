"""Contact against closed forms, with shorter and shorter steps of backward Euler.

What arrives at a plane without damping leaves at the same speed, √(2 g H) from a height
H. What slides at speed v under the regularised friction of `gpu.contact.law`, with the
slip speed e, comes to rest after ::

    (v √(v² + e²) + e² asinh(v / e)) / (2 μ g)

which is the integral of √(v² + e²) / (μ g). What rests is m g / k deep.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from isoscope.gpu.model.spec import Actor, Joint, Link, Model, Shape
from isoscope.gpu.scene.make import make_scene

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.gpu.scene.scene import SimulatedScene

G = 9.81
MASS_KG = 1.0
DROP_M = 0.05
RADIUS_M = 0.1
FRICTION = 0.5
SPEED = 1.0
FLAT = (0.1, 0.1, 0.02)
BOUNCE_H_S = (1e-3, 5e-4, 2.5e-4)
SLIDING_H_S = (1e-2, 5e-3, 2.5e-3)


def run(
    bounce_h_s: Sequence[float] = BOUNCE_H_S, sliding_h_s: Sequence[float] = SLIDING_H_S
) -> dict[str, Any]:
    """Measure; relative errors, one for each step length."""
    return {
        "bounce_h_s": list(bounce_h_s),
        "bounce": [bounce_error(h_s) for h_s in bounce_h_s],
        "sliding_h_s": list(sliding_h_s),
        "sliding": [sliding_error(h_s) for h_s in sliding_h_s],
        "resting_depth": resting_error(),
    }


def bounce_error(h_s: float) -> float:
    """The speed at which a dropped ball leaves, against that at which it came."""
    scene = _scene("sphere", (RADIUS_M,), RADIUS_M + DROP_M)
    scene.configure("contact_damping", np.array(0.0))
    falling = math.sqrt(2 * DROP_M / G)
    fastest = 0.0
    for _ in range(math.ceil((falling + 0.06) / h_s)):
        scene.step(h_s)
        fastest = max(fastest, float(scene.velocities(0)[0, 2]))
    scene.close()
    expected = math.sqrt(2 * G * DROP_M)
    return abs(fastest - expected) / expected


def sliding_error(h_s: float) -> float:
    """How far a flat block slides before it stops."""
    stiffness, slip = _law()
    depth = MASS_KG * G / stiffness
    scene = _scene("box", FLAT, FLAT[2] - depth)
    place = np.array([[0.0, 0.0, FLAT[2] - depth, 0.0, 0.0, 0.0, 1.0]])
    scene.set_state(0, place, np.array([[SPEED, 0.0, 0.0, 0.0, 0.0, 0.0]]))
    for _ in range(math.ceil((SPEED / (FRICTION * G) + 0.05) / h_s)):
        scene.step(h_s)
    slid = float(scene.positions(0)[0, 0])
    scene.close()
    root = math.hypot(SPEED, slip)
    whole = SPEED * root + slip * slip * math.asinh(SPEED / slip)
    expected = whole / (2 * FRICTION * G)
    return abs(slid - expected) / expected


def resting_error() -> float:
    """How deep a block rests."""
    scene = _scene("box", FLAT, FLAT[2])
    for _ in range(100):
        scene.step(0.01)
    depth = FLAT[2] - float(scene.positions(0)[0, 2])
    scene.close()
    expected = MASS_KG * G / _law()[0]
    return abs(depth - expected) / expected


def _law() -> tuple[float, float]:
    """Stiffness [N/m] and slip speed [m/s] of the models here."""
    scene = _scene("box", FLAT, 1.0)
    told = scene.persistent_configuration()
    scene.close()
    return float(told["contact_stiffness"]), float(told["slip_speed"])


def _scene(
    kind: Literal["sphere", "box"], size: tuple[float, ...], height: float
) -> SimulatedScene:
    """A body above a plane."""
    inertia = 0.4 * MASS_KG * RADIUS_M**2
    shape = Shape(name="body", type=kind, size=size, friction=FRICTION)
    body = Link(
        name="body",
        position=(0.0, 0.0, height),
        joint=Joint(type="free"),
        mass=MASS_KG,
        inertia=(inertia, inertia, inertia, 0.0, 0.0, 0.0),
        shapes=(shape,),
    )
    ground = Shape(name="ground", type="plane", size=(), friction=FRICTION)
    model = Model(
        name="contact",
        actors=(Actor(name="body", links=(body,)),),
        gravity=(0.0, 0.0, -G),
        shapes=(ground,),
    )
    return make_scene(model, 1, "cpu", "float64", "backward_euler")
