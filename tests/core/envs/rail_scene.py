"""A small scene in NumPy: masses on rails and free bodies over a floor.

Semi-implicit steps: first v + h·a(q, v), then q + h·v. A rail's coordinate has a mass,
viscous friction and gravity's share along it; a drive's target is an acceleration; a
free body falls and is pushed back by a stiff floor. Every world's arithmetic is
elementwise, so W does not matter to the bits.
"""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from isoscope.core.errors import IsoscopeError
from isoscope.core.scene import Sampled, SceneActor, SceneRow, StepReport

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

FREE_DOFS = (".x", ".y", ".z", ".rx", ".ry", ".rz")
FREE_UNITS = ("m", "m", "m", "rad", "rad", "rad")
RAILS: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "cartpole": (("CartPole", ("m", "rad")),),
    "cartpole_lab": (("CartPole", ("m", "rad")),),
    "double_pendulum_rail": (("DoublePendulum", ("m", "rad", "rad")),),
    "falling_bodies": tuple((n, FREE_UNITS) for n in ("Ball", "Crate", "Rod")),
    "pusher": (("Arm", ("rad", "rad")), ("Box", FREE_UNITS)),
}
STARTS = {
    "Ball": (0.0, 1.0, 0.0),
    "Crate": (0.05, 1.6, 0.02),
    "Rod": (-0.5, 1.2, 0.1),
    "Box": (0.55, 0.06, -0.35),
}
HEADER = b"RAIL1"
GONE = 1e6  # faster than this is no state any more


class RailError(IsoscopeError):
    """What the scene refuses."""


Callback: TypeAlias = "Callable[[Any, float], None]"


def _actor(index: int, name: str, units: tuple[str, ...]) -> SceneActor:
    free = units == FREE_UNITS
    return SceneActor(
        index=index,
        name=name,
        type="Rigid" if free else "Articulated",
        static=False,
        links=(name,) if free else tuple(f"{name}/{i}" for i in range(len(units))),
        dofs=tuple(f"{name}{part}" for part in FREE_DOFS)
        if free
        else tuple(f"{name}{i}" for i in range(len(units))),
        dof_units=units,
        drives=(),
        position_size=7 if free else len(units),
        velocity_size=len(units),
    )


def _row(actor: SceneActor) -> SceneRow:
    i, fields = actor.index, ("translation",)
    return SceneRow(i, actor.name, actor.type, False, i, None, None, fields)


@dataclass(frozen=True)
class RailSample:
    """What a sampler kept: values [W, width], times [W], and the state's bytes."""

    values: np.ndarray[Any, Any]
    time_s: np.ndarray[Any, Any]
    state: bytes

    @property
    def size_bytes(self) -> int:
        return self.values.nbytes + self.time_s.nbytes + len(self.state)


class RailSampler:
    """Reads the same fields of the same worlds again and again."""

    def __init__(self, scene: RailScene, fields: Any, worlds: Any) -> None:
        self._scene, self._fields, self._worlds = scene, tuple(fields), worlds

    def take(self) -> RailSample:
        scene, worlds = self._scene, self._worlds
        chosen = list(range(scene.worlds)) if worlds is None else list(worlds)
        none = np.zeros((len(chosen), 0), scene.precision)
        read = [scene.read(row, field, chosen) for row, field in self._fields]
        flat = [values.reshape(len(chosen), -1) for values in read]
        values = np.concatenate([none, *flat], axis=1)
        return RailSample(values, scene.time_s[chosen], scene.state_bytes())

    def read(self, samples: Sequence[RailSample]) -> Sampled:
        values = np.stack([sample.values for sample in samples])
        time_s = np.stack([sample.time_s for sample in samples])
        states = [sample.state for sample in samples]
        return Sampled(values, time_s, states if self._worlds is None else None)


class RailScene:
    """See the module; `Scene` says what each member does."""

    def __init__(self, model: str, worlds: int, precision: str = "float64") -> None:
        self.name = f"{model} ({worlds})"
        self.worlds = worlds
        self.precision: Any = precision
        self.engine = "rail/1"
        self.xp = np
        self.model = model
        self._dtype = np.dtype(precision)
        self.actors = tuple(_actor(i, n, u) for i, (n, u) in enumerate(RAILS[model]))
        self.rows = tuple(_row(a) for a in self.actors)
        self._q = [
            np.zeros((worlds, a.position_size), self._dtype) for a in self.actors
        ]
        self._v = [
            np.zeros((worlds, a.velocity_size), self._dtype) for a in self.actors
        ]
        self._f = [np.zeros_like(v) for v in self._v]
        self._u = [np.zeros_like(v) for v in self._v]
        for actor, q in zip(self.actors, self._q, strict=True):
            if actor.position_size == 7:
                q[:, :3], q[:, 6] = STARTS[actor.name], 1.0
        self.time_s = np.zeros(worlds)
        self.valid = np.ones(worlds, np.bool_)
        n = sum(a.velocity_size for a in self.actors)
        self._config: dict[str, np.ndarray[Any, Any]] = {
            "mass": np.ones(n),
            "inertia": np.tile([1.0, 1.0, 1.0, 0.0, 0.0, 0.0], (n, 1)),
            "damping": np.full(n, 0.05),
            "gravity": np.array([0.3, -9.8, 0.0]),
        }
        self._snapshots: dict[int, list[np.ndarray[Any, Any]]] = {}
        self._next = 1
        self._callbacks: dict[str, list[Callback]] = {}
        self.crossings: list[tuple[str, int]] = []
        self.closed = False
        self.last_report: StepReport | None = None
        self.thread = threading.get_ident()

    # -- state
    def positions(self, actor: int) -> Any:
        return self._q[actor]

    def velocities(self, actor: int) -> Any:
        return self._v[actor]

    def set_state(self, actor: int, q: Any, v: Any, worlds: Any = None) -> None:
        self._put(self._q[actor], q, worlds)
        self._put(self._v[actor], v, worlds)

    def set_dof_forces(self, actor: int, forces: Any, worlds: Any = None) -> None:
        assert forces.shape == self._f[actor].shape
        self._put(self._f[actor], forces, worlds)

    def set_link_wrenches(self, actor: int, wrenches: Any, worlds: Any = None) -> None:
        raise RailError("rails take no wrenches")

    def set_targets(self, actor: int, targets: Any, worlds: Any = None) -> None:
        assert targets.shape == self._u[actor].shape
        self._put(self._u[actor], targets, worlds)

    def _put(self, array: Any, value: Any, worlds: Any) -> None:
        where = slice(None) if worlds is None else worlds
        array[where] = np.broadcast_to(value, array.shape)[where]

    # -- stepping
    def step(self, h_s: float, worlds: Any = None) -> StepReport:
        assert not self.closed
        self._call("pre", h_s)
        taking = self.valid if worlds is None else self.valid & worlds
        start = 0
        with np.errstate(all="ignore"):
            parts = zip(self.actors, self._q, self._v, self._f, self._u, strict=True)
            for actor, q, v, f, u in parts:
                n = actor.velocity_size
                mass, damping = (
                    self._per_world(k)[:, start : start + n]
                    for k in ("mass", "damping")
                )
                gravity = self._per_world("gravity")
                a = (f - damping * v) / mass
                if actor.position_size == 7:
                    deep = np.maximum(0.05 - q[:, 1], 0.0)
                    a[:, 1] += gravity[:, 1] + deep * 2000.0 - deep * v[:, 1] * 50.0
                else:
                    # gravity's share, and a spring that couples neighbours
                    a += gravity[:, 0:1] + u
                    a[:, 1:] += 3.0 * q[:, 1:] - q[:, :-1]
                new_v = (v + h_s * a).astype(self._dtype)
                self._put(v, new_v, taking)
                self._put(q, self._integrated(q, new_v, h_s), taking)
                start += n
            good = np.ones(self.worlds, np.bool_)
            for v in self._v:
                good &= (np.abs(v) < GONE).all(1)
        self.valid = self.valid & (good | ~taking)
        self.time_s = np.where(taking, self.time_s + h_s, self.time_s)
        self._call("post", h_s)
        status = np.where(taking, np.where(good, 0, 2), -1).astype(np.int8)
        residual = np.where(taking, 0.0, np.nan)
        report = self.last_report = StepReport(
            h_s, status, np.zeros(self.worlds, np.int32), residual, self.valid
        )
        self._call("recorded", h_s)
        return report

    def _integrated(self, q: Any, v: Any, h: float) -> Any:
        if q.shape[1] != 7:
            return q + h * v
        moved = q.copy()
        moved[:, :3] += h * v[:, :3]
        w = v[:, 3:] * (0.5 * h)
        x, y, z, s = (q[:, i] for i in range(3, 7))
        a, b, c = (w[:, i] for i in range(3))
        moved[:, 3] += s * a + y * c - z * b
        moved[:, 4] += s * b + z * a - x * c
        moved[:, 5] += s * c + x * b - y * a
        moved[:, 6] -= x * a + y * b + z * c
        x, y, z, s = (moved[:, i] for i in range(3, 7))
        moved[:, 3:] /= np.sqrt(x * x + y * y + z * z + s * s)[:, None]
        return moved

    def _on(self, when: str, callback: Callback) -> Callable[[], None]:
        self._callbacks.setdefault(when, []).append(callback)
        return lambda: self._callbacks[when].remove(callback)

    def on_pre_step(self, callback: Callback) -> Callable[[], None]:
        return self._on("pre", callback)

    def on_post_step(self, callback: Callback) -> Callable[[], None]:
        return self._on("post", callback)

    def on_recorded(self, callback: Callback) -> Callable[[], None]:
        return self._on("recorded", callback)

    def _call(self, when: str, h_s: float) -> None:
        for callback in list(self._callbacks.get(when, ())):
            callback(self, h_s)

    # -- snapshots
    def _parts(self) -> list[np.ndarray[Any, Any]]:
        return [*self._q, *self._v, *self._f, *self._u, self.time_s, self.valid]

    def capture(self) -> int:
        handle, self._next = self._next, self._next + 1
        self._snapshots[handle] = [part.copy() for part in self._parts()]
        return handle

    def restore(
        self, handle: int, release_immediately: bool = False, worlds: Any = None
    ) -> None:
        if handle not in self._snapshots:
            raise RailError(f"restoring {self.name}: no state {handle}")
        saved = self._snapshots[handle]
        self.time_s, self.valid = self.time_s.copy(), self.valid.copy()
        for part, value in zip(self._parts(), saved, strict=True):
            self._put(part, value, worlds)
        if release_immediately:
            self.release(handle)

    def release(self, handle: int) -> None:
        del self._snapshots[handle]

    def is_equal(self, a: int, b: int) -> bool:
        return self.state_to_bytes(a) == self.state_to_bytes(b)

    def state_to_bytes(self, handle: int) -> bytes:
        return HEADER + b"".join(p.tobytes() for p in self._snapshots[handle])

    def state_bytes(self) -> bytes:
        """What `state_to_bytes` gives of the present."""
        return HEADER + b"".join(part.tobytes() for part in self._parts())

    def state_from_bytes(self, data: bytes) -> int:
        parts = self._parts()
        if not data.startswith(HEADER) or len(data) != len(HEADER) + sum(
            p.nbytes for p in parts
        ):
            raise RailError(f"reading a state of {self.name}: it is another scene's")
        found, at = [], len(HEADER)
        for part in parts:
            flat = np.frombuffer(data[at : at + part.nbytes], part.dtype)
            found.append(flat.reshape(part.shape).copy())
            at += part.nbytes
        handle, self._next = self._next, self._next + 1
        self._snapshots[handle] = found
        return handle

    @property
    def snapshots(self) -> int:
        return len(self._snapshots)

    # -- what snapshots don't cover
    def persistent_configuration(self) -> Mapping[str, np.ndarray[Any, Any]]:
        return {name: value.copy() for name, value in self._config.items()}

    def configuration_fingerprint(self) -> str:
        digest = hashlib.sha256()
        for name, value in sorted(self._config.items()):
            digest.update(name.encode() + value.tobytes())
        return digest.hexdigest()

    def _shape(self, name: str) -> tuple[int, ...]:
        n = sum(a.velocity_size for a in self.actors)
        return {"inertia": (n, 6), "gravity": (3,)}.get(name, (n,))

    def _per_world(self, name: str) -> Any:
        value = self._config[name]
        shape = (self.worlds, *self._shape(name))
        return np.broadcast_to(value, shape).astype(self._dtype)

    def configure(self, name: str, value: Any, worlds: Any = None) -> None:
        if name not in self._config:
            raise RailError(f"setting {name}: {self.name} has none")
        given = np.asarray(value, np.float64)
        if given.shape not in (self._shape(name), (self.worlds, *self._shape(name))):
            raise RailError(f"setting {name}: a value of shape {given.shape}")
        if worlds is None:
            self._config[name] = given.copy()
            return
        shape = (self.worlds, *self._shape(name))
        now = np.broadcast_to(self._config[name], shape).copy()
        self._put(now, given, worlds)
        self._config[name] = now

    # -- crossing over
    def read(
        self, row: int, field: str, worlds: Sequence[int] | None = None
    ) -> np.ndarray[Any, Any]:
        values = self._read(row, field)
        return values if worlds is None else values[list(worlds)]

    def _read(self, row: int, field: str) -> np.ndarray[Any, Any]:
        assert field == "translation"
        q = self._q[row]
        if q.shape[1] == 7:
            return q[:, :3].copy()
        place = np.zeros((self.worlds, 3), self._dtype)
        place[:, 0] = q[:, 0]
        return place

    def sampler(
        self,
        fields: Sequence[tuple[int, str]],
        worlds: Sequence[int] | None = None,
        cause: str = "read",
    ) -> RailSampler:
        return RailSampler(self, fields, worlds)

    def surface(self, row: int) -> None:
        return None

    def to_host(self, array: Any, cause: str) -> np.ndarray[Any, Any]:
        self.crossings.append((cause, array.nbytes))
        return np.array(array)

    def to_device(self, array: np.ndarray[Any, Any], cause: str) -> Any:
        return np.array(array)

    def close(self) -> None:
        self.closed = True


def make_rail_scene(
    model_name: str, worlds: int, device: str, precision: Any, integrator: str
) -> RailScene:
    return RailScene(model_name, worlds, precision)
