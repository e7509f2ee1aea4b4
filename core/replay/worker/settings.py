"""Sets values of a native scene's persistent configuration, by their recorded names."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.errors import IsoscopeError
from isoscope.core.replay.scene_engine import filled, same_value
from isoscope.core.tap.adapters.superdex.configuration import constraints_of, pairs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# Of the scene's actors, by what is told of each: what gives and takes its parameters.
PARAMETERS = {
    "contact": ("get_contact_params", "set_contact_params"),
    "material": ("get_soft_material_params", "set_soft_material_params"),
    "recentering": ("get_recentering_params", "set_recentering_params"),
    "jointFriction": (
        "get_articulated_joint_friction_params",
        "set_articulated_joint_friction_params",
    ),
}
MASS = ("mass", "centerOfMass", "inertia")  # set together
# Before others, which it changes.
FIRST = ("density",)


class SettingError(IsoscopeError):
    """A value that can't be set."""


class Settings:
    """Sets what differs from a recorded configuration.

    Parameters
    ----------
    scene
        The native scene.
    physics
        The engine's module.
    read
        Gives the present configuration, by name.
    actors
        By ``NAME#NUMBER``, as the names of values begin.
    """

    def __init__(
        self,
        scene: Any,
        physics: Any,
        read: Callable[[], dict[str, Any]],
        actors: Mapping[str, Any],
    ) -> None:
        self._scene, self._physics = scene, physics
        self._read = read
        self._actors = actors

    def set(self, values: Mapping[str, Any]) -> None:
        """Set values; those that the scene doesn't have at all stay unset.

        Some depend on others (an inertia on a density), so what is not there after a
        round is set again after the others.

        Raises
        ------
        SettingError
            For a value that is refused, or that only another topology has.
        """
        before: set[str] = set()
        while True:
            here = self._read()
            other = {
                key: value
                for key, value in values.items()
                if key in here and not same_value(value, here[key])
            }
            if not other or set(other) == before:
                return
            before = set(other)
            for key in sorted(other, key=_order):
                self._one(key, other[key], here, values)

    def _one(
        self,
        key: str,
        value: Any,
        here: Mapping[str, Any],
        values: Mapping[str, Any],
    ) -> None:
        if key.startswith("topology/"):
            raise SettingError(
                f"{key.partition('/')[2]}: {value} in the recording, {here[key]} here"
            )
        full = _filled(value, here[key])
        try:
            whose = next((a for a in self._actors if key.startswith(f"{a}/")), None)
            if whose is None:
                self._of_scene(key, full)
            else:
                name = key[len(whose) + 1 :]
                given = {
                    k: _filled(values.get(f"{whose}/{k}", here.get(f"{whose}/{k}")), v)
                    for k in MASS
                    if (v := here.get(f"{whose}/{k}")) is not None
                }
                self._of_actor(self._actors[whose], name, full, given)
        except SettingError:
            raise
        except Exception as error:
            raise SettingError(f"setting {key} to {value}: {error}") from error

    def _of_scene(self, key: str, value: Any) -> None:
        scene = self._scene
        head, _, rest = key.partition("/")
        if key == "gravity":
            scene.set_gravity(value)
        elif key == "solver/singleIsland":
            scene.set_force_single_island(value)
        elif head == "solver":
            scene.set_solver_params(put(scene.get_solver_params(), rest, value))
        elif head == "contactLayers":
            self._layers(rest, value)
        elif head == "constraints":
            number, _, name = rest.partition("/")
            constraint = dict(constraints_of(scene))[f"{head}/{number}"]
            getattr(constraint, f"set_{name}")(value)
        elif head == "contactPairs":
            self._pair(key, value)
        else:
            raise SettingError(f"nothing is known that sets {key}")

    def _layers(self, names: str, enabled: bool) -> None:
        known: list[str] = []
        self._scene.enumerate_contact_layer_names(known.append)
        for a in known:
            for b in known:
                if names == f"{a}/{b}":
                    self._scene.enable_layer_contact_asymmetric(a, b, enabled)

    def _pair(self, key: str, value: Any) -> None:
        scene = self._scene
        for whose, a, b in pairs_of(self._actors):
            if key.startswith(f"{whose}/"):
                own = scene.get_contact_pair_params_override(a, b)
                put(own, key[len(whose) + 1 :], value)
                scene.set_contact_pair_params_override(a, b, own)

    def _of_actor(
        self, actor: Any, name: str, value: Any, masses: Mapping[str, Any]
    ) -> None:
        head, _, rest = name.partition("/")
        if name == "density":
            actor.set_density(value)
        elif name == "contactLayer":
            actor.set_contact_layer(value)
        elif name == "jointInertia":
            actor.set_articulated_joint_inertia_params(value)
        elif head in MASS:
            actor.set_inertia_properties(*(masses[k] for k in MASS))
        elif head == "controller":
            params = self._physics.PoseControllerParams()
            actor.get_articulated_pose_controller_params(params)
            actor.set_articulated_pose_controller_params(put(params, rest, value))
        elif head in PARAMETERS:
            get, take = PARAMETERS[head]
            getattr(actor, take)(put(getattr(actor, get)(), rest, value))
        else:
            raise SettingError(f"nothing is known that sets {name}")


def put(thing: Any, path: str, value: Any) -> Any:
    """A value put into parameters by its path: attributes, and numbers of elements."""
    head, _, rest = path.partition("/")
    if head.isdigit():
        items = list(thing)
        items[int(head)] = put(items[int(head)], rest, value) if rest else value
        if isinstance(thing, (list, tuple)):
            return items
        try:
            thing[int(head)] = items[int(head)]
        except TypeError:
            return items  # a view that can't be written
        return thing
    old = getattr(thing, head)
    if rest:
        setattr(thing, head, put(old, rest, value))
    elif isinstance(old, enum.Enum):
        setattr(thing, head, type(old)[value])
    else:
        setattr(thing, head, value)
    return thing


def _order(key: str) -> tuple[bool, str]:
    return key.rsplit("/", 1)[-1] not in FIRST, key


def _filled(value: Any, here: Any) -> Any:
    """A recorded value; None in it, not a finite number, is what is here."""
    if value is None:
        return here
    if isinstance(value, list) and None in value:
        return filled(value, np.asarray(here)).tolist()
    return value
