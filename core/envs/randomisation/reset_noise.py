"""Noise on pose and velocity at a reset: by degree of freedom, each in its own unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from isoscope.core.envs.arrays import choose, like
from isoscope.core.errors import UsageError

if TYPE_CHECKING:
    from isoscope.core.scene import Scene, SceneActor


@dataclass(frozen=True, slots=True)
class DofNoise:
    """Noise on one degree of freedom.

    Attributes
    ----------
    dof
        Its number within its actor.
    unit
        The position's, ``"m"`` or ``"rad"``, which the scene must confirm; the
        velocity's is that per second.
    position, velocity
        Scales: half the width of a uniform, the standard deviation of a normal
        distribution.
    """

    actor: int
    dof: int
    unit: Literal["m", "rad"]
    position: float = 0.0
    velocity: float = 0.0


@dataclass(frozen=True, slots=True)
class ResetNoise:
    """Noise at a reset; by default of the kinds that SuperDex Lab draws.

    Attributes
    ----------
    position_kind, velocity_kind
        ``uniform`` in [-scale, scale) or ``normal``.
    """

    dofs: tuple[DofNoise, ...] = ()
    position_kind: Literal["uniform", "normal"] = "uniform"
    velocity_kind: Literal["uniform", "normal"] = "normal"

    def draw_positions(self, generator: np.random.Generator, k: int) -> Any:
        """[k, dofs], without scale."""
        return _draw(self.position_kind, generator, k, len(self.dofs))

    def draw_velocities(self, generator: np.random.Generator, k: int) -> Any:
        """[k, dofs], without scale."""
        return _draw(self.velocity_kind, generator, k, len(self.dofs))


def _draw(kind: str, generator: np.random.Generator, k: int, n: int) -> Any:
    if kind == "uniform":
        return generator.random((k, n)) * 2.0 - 1.0
    return generator.standard_normal((k, n))


class NoisyStart:
    """Reset noise over a scene.

    Raises
    ------
    UsageError
        If a degree of freedom is not there, or its unit is another.
    """

    def __init__(self, noise: ResetNoise, scene: Scene) -> None:
        self._scene = scene
        self._actors: list[tuple[SceneActor, Any, Any]] = []
        for number, actor in enumerate(scene.actors):
            columns = [(c, d) for c, d in enumerate(noise.dofs) if d.actor == number]
            if not columns:
                continue
            _refuse_bad(actor, [d for _, d in columns])
            # from the drawn row to the actor's velocity coordinates
            position = np.zeros((len(noise.dofs), actor.velocity_size))
            velocity = np.zeros_like(position)
            for column, dof in columns:
                position[column, dof.dof] = dof.position
                velocity[column, dof.dof] = dof.velocity
            self._actors.append((actor, _columns(position), _columns(velocity)))
        unknown = [d for d in noise.dofs if d.actor >= len(scene.actors)]
        if unknown:
            raise UsageError(
                f"setting up reset noise: there is no actor {unknown[0].actor}"
            )

    def add(self, positions: Any, velocities: Any, worlds: Any) -> None:
        """Move the state in the scene by drawn rows [W, dofs]."""
        scene = self._scene
        xp = scene.xp
        for actor, position, velocity in self._actors:
            q, v = scene.positions(actor.index), scene.velocities(actor.index)
            dq = _spread(like(positions, q), position, xp)
            dv = _spread(like(velocities, v), velocity, xp)
            moved = _moved(actor, q, dq, xp)
            scene.set_state(actor.index, choose(worlds, moved, q, xp), v + dv, worlds)


def _columns(matrix: np.ndarray[Any, Any]) -> list[tuple[int, float] | None]:
    """For each velocity coordinate, the drawn column that moves it, and its scale."""
    found: list[tuple[int, float] | None] = []
    for j in range(matrix.shape[1]):
        rows = np.flatnonzero(matrix[:, j])
        found.append((int(rows[0]), float(matrix[rows[0], j])) if len(rows) else None)
    return found


def _spread(drawn: Any, columns: list[tuple[int, float] | None], xp: Any) -> Any:
    zero = drawn[:, 0] * 0.0
    parts = [zero if c is None else drawn[:, c[0]] * c[1] for c in columns]
    return xp.stack(parts, 1)


def _moved(actor: SceneActor, q: Any, dq: Any, xp: Any) -> Any:
    if actor.position_size == actor.velocity_size:
        return q + dq
    # one free joint: turned about its own axes by 2·tan(half the angle) ≈ the angle
    half = dq[:, 3:6] * 0.5
    bx, by, bz = half[:, 0], half[:, 1], half[:, 2]
    norm = xp.sqrt(bx * bx + by * by + bz * bz + 1.0)
    x, y, z, w = (q[:, i] for i in range(3, 7))
    turned = (
        x + w * bx + y * bz - z * by,
        y + w * by + z * bx - x * bz,
        z + w * bz + x * by - y * bx,
        w - x * bx - y * by - z * bz,
    )
    parts = [q[:, i] + dq[:, i] for i in range(3)] + [c / norm for c in turned]
    return xp.stack(parts, 1)


def _refuse_bad(actor: SceneActor, dofs: list[DofNoise]) -> None:
    free = (actor.position_size, actor.velocity_size) == (7, 6)
    if actor.position_size != actor.velocity_size and not free:
        raise UsageError(
            f"setting up reset noise: {actor.name} has spherical joints, or free ones "
            "among others; noise on these is not supported"
        )
    for noise in dofs:
        if not 0 <= noise.dof < actor.velocity_size:
            raise UsageError(
                f"setting up reset noise: {actor.name} has {actor.velocity_size} "
                f"degrees of freedom, there is no number {noise.dof}"
            )
        if actor.dof_units[noise.dof] != noise.unit:
            raise UsageError(
                f"setting up reset noise: {actor.name}'s {actor.dofs[noise.dof]} is in "
                f"{actor.dof_units[noise.dof]}, the noise in {noise.unit}"
            )
        if noise.position < 0.0 or noise.velocity < 0.0:
            raise UsageError(
                f"setting up reset noise: a negative scale on "
                f"{actor.name}'s {actor.dofs[noise.dof]}"
            )
