"""The persistent configuration of a native scene: what no snapshot of it covers."""

from __future__ import annotations

import enum
import hashlib
import json
import weakref
from typing import TYPE_CHECKING, Any

from isoscope.core.recording.labelled.records import DIGEST_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from isoscope.core.tap.adapters.superdex.actors import Known

MOST_DEPTH = 4
_named: weakref.WeakKeyDictionary[type, tuple[str, ...]] = weakref.WeakKeyDictionary()
# Of actors, by what is told of each: its getter and what to call it.
ACTOR_VALUES = (
    ("get_density", "density"),
    ("get_mass", "mass"),
    ("get_rigid_center_of_mass_local", "centerOfMass"),
    ("get_rigid_moment_of_inertia_local", "inertia"),
    ("get_contact_params", "contact"),
    ("get_contact_layer", "contactLayer"),
    ("get_articulated_joint_friction_params", "jointFriction"),
    ("get_articulated_joint_inertia_params", "jointInertia"),
    ("get_soft_material_params", "material"),
    ("get_recentering_params", "recentering"),
)
# Of constraints.
CONSTRAINT_VALUES = (
    ("get_stiffness", "stiffness"),
    ("get_damping", "damping"),
    ("get_saturation", "saturation"),
)
MOST_CONSTRAINTS = 1024  # whose values are read; a cloth may have one a node
MOST_PAIRED = 256  # actors that are looked through for pairs with contact of their own


class Configuration:
    """Reads the configuration of one scene.

    Parameters
    ----------
    scene
        The native scene.
    physics
        The engine's module.
    """

    def __init__(self, scene: Any, physics: Any) -> None:
        self._scene = scene
        self._physics = physics
        # What an actor does not have it never has: not asked twice.
        self._without: set[tuple[int, str]] = set()
        self._pairs: list[tuple[str, Any, Any]] | None = None  # None: not looked for

    def look_for_pairs(self) -> None:
        """Look again, when next read, which actors' contact has values of its own."""
        self._pairs = None

    def read(self, actors: Iterable[Known]) -> dict[str, Any]:
        """Everything that can be read, as plain values by name."""
        scene, actors = self._scene, list(actors)
        found: dict[str, Any] = {
            "gravity": scene.get_gravity().tolist(),
            "topology/actors": int(scene.get_num_actors()),
        }
        _spread(_asked(scene, "get_solver_params"), "solver", found, 0)
        for name, key in (
            ("get_num_constraints", "topology/constraints"),
            ("get_force_single_island", "solver/singleIsland"),
        ):
            value = _asked(scene, name)
            if value is not None:
                found[key] = _plain(value)
        self._layers(found)
        for known in actors:
            self._actor(known, found)
        for key, constraint in constraints_of(scene):
            for getter, value_name in CONSTRAINT_VALUES:
                value = _asked(constraint, getter)
                if value is not None:
                    found[f"{key}/{value_name}"] = _plain(value)
        self._contact_pairs(actors, found)
        return found

    def _contact_pairs(self, known: list[Known], found: dict[str, Any]) -> None:
        """What holds for the contact of two actors instead of their own values."""
        scene = self._scene
        if self._pairs is None:
            actors = {f"{k.actor.get_name()}#{k.number}": k.actor for k in known}
            asks = hasattr(scene, "has_contact_pair_params_override")
            self._pairs = [
                (key, a, b)
                for key, a, b in (pairs_of(actors) if asks else ())
                if _asked(scene, "has_contact_pair_params_override", a, b)
            ]
        for key, a, b in self._pairs:
            value = _asked(scene, "get_contact_pair_params_override", a, b)
            if value is not None:
                _spread(value, key, found, 0)

    def _actor(self, known: Known, found: dict[str, Any]) -> None:
        actor, number = known.actor, known.number
        prefix = f"{actor.get_name()}#{number}"
        for getter, name in ACTOR_VALUES:
            if (number, getter) in self._without:
                continue
            value = _asked(actor, getter)
            if value is None:
                self._without.add((number, getter))
            else:
                _spread(value, f"{prefix}/{name}", found, 0)
        if _asked(actor, "has_articulated_pose_controller"):
            params = self._physics.PoseControllerParams()
            try:
                actor.get_articulated_pose_controller_params(params)
            except Exception:  # noqa: BLE001 the engine's way to say that it has none
                return
            _spread(params, f"{prefix}/controller", found, 0)

    def _layers(self, found: dict[str, Any]) -> None:
        names: list[str] = []
        try:
            self._scene.enumerate_contact_layer_names(names.append)
        except Exception:  # noqa: BLE001 another release of the engine
            return
        for a in sorted(names):
            for b in sorted(names):
                on = _asked(self._scene, "is_layer_contact_enabled", a, b)
                if on is not None:
                    found[f"contactLayers/{a}/{b}"] = bool(on)


def constraints_of(scene: Any) -> list[tuple[str, Any]]:
    """The scene's constraints, in its order, with what the names of values begin by."""
    handles: list[Any] = []
    try:
        scene.for_each_constraint(lambda one: handles.append(one.get_handle()))
        return [
            (f"constraints/{k}", scene.get_constraint(handle))
            for k, handle in enumerate(handles[:MOST_CONSTRAINTS])
        ]
    except Exception:  # noqa: BLE001 another release of the engine
        return []


def pairs_of(actors: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Handles of all pairs of actors, with what the names of values begin by.

    Parameters
    ----------
    actors
        By ``NAME#NUMBER``.
    """
    if len(actors) > MOST_PAIRED:
        return []
    told = []
    for named, actor in actors.items():
        name, _, number = named.rpartition("#")
        told.append((f"{name}({number})", actor.get_handle()))
    return [
        (f"contactPairs/{one}/{two}", a, b)
        for k, (one, a) in enumerate(told)
        for two, b in told[k + 1 :]
    ]


def digest(values: dict[str, Any]) -> bytes:
    """BLAKE2b of names and values, `DIGEST_BYTES` long."""
    text = json.dumps(values, sort_keys=True, default=repr).encode()
    return hashlib.blake2b(text, digest_size=DIGEST_BYTES).digest()


def _asked(thing: Any, name: str, *args: Any) -> Any:
    get = getattr(thing, name, None)
    if get is None:
        return None
    try:
        return get(*args)
    except Exception:  # noqa: BLE001 the engine's way to say that there is none
        return None


def _spread(value: Any, key: str, found: dict[str, Any], depth: int) -> None:
    """A value, or the values in it, under their names."""
    plain = _plain(value)
    if plain is not None:
        found[key] = plain
        return
    if depth >= MOST_DEPTH:
        return
    if hasattr(value, "__len__") and hasattr(value, "__getitem__"):
        for k in range(len(value)):
            _spread(value[k], f"{key}/{k}", found, depth + 1)
        return
    for name in _names(value):
        inner = getattr(value, name, None)
        if inner is not None and not callable(inner):
            _spread(inner, f"{key}/{name}", found, depth + 1)


def _names(value: Any) -> tuple[str, ...]:
    """What of a value may be told, by its type: to ask each time takes too long."""
    kind = type(value)
    names = _named.get(kind)
    if names is None:
        every = [name for name in dir(value) if not name.startswith("_")]
        told = (n for n in every if not callable(getattr(kind, n, None)))
        names = _named[kind] = tuple(told)
    return names


def _plain(value: Any) -> Any:
    """A value that JSON holds; None if it is made of others."""
    if isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, enum.Enum):
        return value.name
    if hasattr(value, "tolist") or hasattr(value, "__buffer__"):
        told = value.tolist() if hasattr(value, "tolist") else list(value)
        return told if _numbers(told) else None
    return None


def _numbers(values: Any) -> bool:
    """Whether these are numbers, in whatever lists; spans may hold other things."""
    if isinstance(values, list):
        return all(_numbers(value) for value in values)
    return isinstance(values, (bool, int, float, str))
