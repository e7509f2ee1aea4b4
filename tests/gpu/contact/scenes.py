"""Bodies, poses and NumPy distances for the tests of contact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from isoscope.gpu.contact.contacts import Contacts
from isoscope.gpu.model.build import build_tree
from isoscope.gpu.model.parameters import Parameters
from isoscope.gpu.model.spec import (
    NO_TURN,
    Actor,
    Contact,
    Joint,
    Link,
    Model,
    Quaternion,
    Shape,
    Vector,
)

if TYPE_CHECKING:
    from isoscope.gpu.contact.report import ContactReport
    from isoscope.gpu.model.tree import Tree

Array = np.ndarray[Any, np.dtype[np.float64]]

GROUND = Shape(name="ground", type="plane")
LAW = Contact(stiffness=2e4, damping=2.0, slip_speed_m_s=1e-2)


@dataclass(frozen=True)
class Motion:
    """Link poses and velocities, set by hand."""

    position: torch.Tensor
    matrix: torch.Tensor
    linear: torch.Tensor
    angular: torch.Tensor

    def world(self, index: int | list[int]) -> Motion:
        chosen = [index] if isinstance(index, int) else index
        return Motion(
            *(
                getattr(self, name)[..., chosen].contiguous()
                for name in ("position", "matrix", "linear", "angular")
            )
        )

    def to(self, dtype: torch.dtype) -> Motion:
        return Motion(
            self.position.to(dtype),
            self.matrix.to(dtype),
            self.linear.to(dtype),
            self.angular.to(dtype),
        )


def sphere(radius: float = 0.1, **more: Any) -> Shape:
    return Shape(name="sphere", type="sphere", size=(radius,), **more)


def capsule(radius: float = 0.05, half: float = 0.1, **more: Any) -> Shape:
    return Shape(name="capsule", type="capsule", size=(radius, half), **more)


def box(x: float = 0.1, y: float = 0.1, z: float = 0.1, **more: Any) -> Shape:
    return Shape(name="box", type="box", size=(x, y, z), **more)


def body(
    name: str,
    shape: Shape,
    *,
    mass: float = 1.0,
    position: Vector = (0.0, 0.0, 0.0),
    rotation: Quaternion = NO_TURN,
) -> Actor:
    """A free body of one shape with the inertia of its bounding box."""
    half = {
        "sphere": shape.size * 3,
        "capsule": (shape.size[0], shape.size[0], sum(shape.size)),
        "box": shape.size,
        "plane": (1.0, 1.0, 1.0),
    }[shape.type]
    x2, y2, z2 = (length * length for length in half)
    link = Link(
        name=name,
        joint=Joint(name=name, type="free"),
        mass=mass,
        inertia=(*(mass / 3 * s for s in (y2 + z2, x2 + z2, x2 + y2)), 0.0, 0.0, 0.0),
        position=position,
        rotation=rotation,
        shapes=(shape,),
    )
    return Actor(name=name, links=(link,))


def scene(*bodies: Actor, world: tuple[Shape, ...] = (), law: Contact = LAW) -> Model:
    return Model(name="scene", actors=bodies, shapes=world, contact=law)


def compiled(model: Model, worlds: int = 1) -> tuple[Tree, Parameters, Contacts]:
    tree = build_tree(model)
    return tree, Parameters.from_tree(tree, worlds=worlds), Contacts(tree)


def placed(*poses: tuple[Vector, Quaternion], worlds: int = 1) -> Motion:
    """Resting links, one pose each, the same in all worlds."""
    position = torch.tensor([pose[0] for pose in poses], dtype=torch.float64)
    matrix = np.stack([rotation(np.array(pose[1])) for pose in poses])
    still = torch.zeros(len(poses), 3, worlds, dtype=torch.float64)
    return Motion(
        position.unsqueeze(-1).repeat(1, 1, worlds),
        torch.from_numpy(matrix.reshape(-1, 9, 1)).repeat(1, 1, worlds),
        still,
        still,
    )


def random_motion(
    random: np.random.Generator, links: int, worlds: int, spread: float
) -> Motion:
    """Links anywhere within about `spread` of the origin, moving at about 1 m/s."""
    quaternions = random.normal(size=(links, worlds, 4))
    matrix = np.empty((links, 9, worlds))
    for link in range(links):
        for world in range(worlds):
            matrix[link, :, world] = rotation(quaternions[link, world]).reshape(9)
    return Motion(
        torch.from_numpy(spread * random.normal(size=(links, 3, worlds))),
        torch.from_numpy(matrix),
        torch.from_numpy(random.normal(size=(links, 3, worlds))),
        torch.from_numpy(random.normal(size=(links, 3, worlds))),
    )


def rotation(quaternion: Array) -> Array:
    x, y, z, w = quaternion / np.linalg.norm(quaternion)
    matrix: Array = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    return matrix


def surface_distance(shape: Shape, position: Array, matrix: Array, at: Array) -> Array:
    """Signed distance of points (k, 3) to a shape placed in the world."""
    local = (at - position) @ matrix
    if shape.type == "plane":
        return np.asarray(local[:, 2])
    if shape.type == "sphere":
        return np.asarray(np.linalg.norm(local, axis=1) - shape.size[0])
    if shape.type == "capsule":
        radius, half = shape.size
        local[:, 2] -= np.clip(local[:, 2], -half, half)
        return np.asarray(np.linalg.norm(local, axis=1) - radius)
    beyond = np.abs(local) - np.array(shape.size)
    outside = np.linalg.norm(np.maximum(beyond, 0.0), axis=1)
    return np.asarray(outside + np.minimum(beyond.max(axis=1), 0.0))


def pose_of(motion: Motion, link: int, world: int) -> tuple[Array, Array]:
    return (
        motion.position[link, :, world].numpy(),
        motion.matrix[link, :, world].numpy().reshape(3, 3),
    )


def numbers(report: ContactReport, name: str, world: int = 0) -> Array:
    return np.asarray(getattr(report, name)[..., world].detach().numpy())


def touching(report: ContactReport, world: int = 0) -> Array:
    return np.flatnonzero(numbers(report, "active", world))
