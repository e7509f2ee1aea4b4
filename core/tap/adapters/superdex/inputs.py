"""Sees what is put into a scene that its state doesn't tell: pushes, targets, places.

Forces on bodies and articulations are read after every native step, as are targets of
poses; where a callback that runs after a step changes them, as they were before. A
link's are read from the first time on that anybody sets them; of everything else here
the recording tells that it was done, so that nobody takes what comes of it for a leak.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.core.recording.labelled import records as r
from isoscope.core.tap.adapters.superdex import engine
from isoscope.core.tap.adapters.superdex.actors import ARTICULATED, RIGID, is_link

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.tap.adapters.superdex.watch import SceneWatch

FORCES = "set_external_forces_on_dofs"
# What changes inputs whose values are recorded, besides that and what is below.
RECORDED = ("clear_external_forces", "set_articulated_target_pose")
# Inputs of actors whose values nothing tells, by the start of their names.
ACTOR_INPUTS = (
    "add_boundary_condition",
    "clear_boundary_conditions",
    "reset_articulated_target_",
    "set_articulated_target_link_transforms",
    "set_articulated_target_velocity",
)
CONSTRAINT_INPUTS = (
    "set_ref_relative_rotation",
    "set_target_",
    "update_old_target",
)
CONSTRAINT_SETTINGS = ("set_damping", "set_saturation", "set_stiffness")
# What places actors by hand, where they are not steered there.
STATES = (
    "set_articulated_joint_velocities",
    "set_articulated_pose_from_",
    "set_center_of_mass_transform",
    "set_displacements",
    "set_node_positions_local",
    "set_node_velocities_local",
    "set_root_transform",
    "set_velocity",
    "set_zero_displacements_and_velocities",
)
_patched: set[type] = set()


def patch(scene: Any, actors: list[Any], physics: Any) -> None:
    """See what is put into the actors and constraints of a scene's engine.

    Where its classes can't be wrapped, nothing is seen.

    Parameters
    ----------
    physics
        The engine's module.
    """
    try:
        for actor in actors[:1]:
            _patch_actors(type(actor))
        constraint = getattr(physics, "Constraint", None)
        if constraint is not None and constraint not in _patched:
            _wrap_all(constraint, CONSTRAINT_INPUTS, _constraint_input)
            _wrap_all(constraint, CONSTRAINT_SETTINGS, _constraint_setting)
            _patched.add(constraint)
    except (AttributeError, TypeError):
        return


def _patch_actors(kind: type) -> None:
    if kind in _patched:
        return
    engine.wrap(kind, FORCES, _force)
    for name in RECORDED:
        engine.wrap(kind, name, _recorded)
    _wrap_all(kind, ACTOR_INPUTS, _actor_input)
    _wrap_all(kind, STATES, _placing)
    _patched.add(kind)


def _wrap_all(
    kind: type,
    starts: tuple[str, ...],
    make: Callable[[Callable[..., Any], str], Callable[..., Any]],
) -> None:
    for name in dir(kind):
        if name.startswith(starts):
            engine.wrap(kind, name, make)


def _force(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    # Called in every native step by most tasks, so it asks for little.
    def push(
        actor: Any,
        dof_indices: Any = engine.NOT_GIVEN,
        force_values: Any = engine.NOT_GIVEN,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        if engine.stepping:
            _keep(actor)
        if args or kwargs or force_values is engine.NOT_GIVEN:
            if force_values is not engine.NOT_GIVEN:
                args = force_values, *args
            call = engine.bound(original, dof_indices, args, kwargs)
            result = call(actor, None)
        else:
            result = original(actor, dof_indices, force_values)
        if engine.watched and actor not in engine.quiet:
            kind = actor.get_type().name
            if kind != ARTICULATED and (kind != RIGID or is_link(actor)):
                watch = engine.find_of(actor)
                if watch is not None and kind == RIGID:
                    watch.pushed(actor)
                elif watch is not None:
                    watch.given(r.UNRECORDED_INPUT, name)
        return result

    return push


def _keep(actor: Any) -> None:
    """Keep what was put in for a step that is over, but for callbacks after it."""
    watch = engine.find_of(actor)
    if watch is not None and watch in engine.stepping:
        watch.overtaken()


def _recorded(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    def put(actor: Any, *args: Any, **kwargs: Any) -> Any:
        if engine.stepping:
            _keep(actor)
        return original(actor, *args, **kwargs)

    return put


def _actor_input(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    def put(actor: Any, *args: Any, **kwargs: Any) -> Any:
        if engine.stepping:
            _keep(actor)
        result = original(actor, *args, **kwargs)
        watch = engine.find_of(actor)
        if watch is not None:
            watch.given(r.UNRECORDED_INPUT, name)
        return result

    return put


def _placing(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    def place(actor: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(actor, *args, **kwargs)
        watch = engine.find_of(actor)
        if watch is not None:
            watch.given("set_state", name)
        return result

    return place


def _constraint_input(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    def put(constraint: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(constraint, *args, **kwargs)
        watch = _watch_of(constraint)
        if watch is not None:
            watch.given(r.UNRECORDED_INPUT, f"a constraint's {name}")
        return result

    return put


def _constraint_setting(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    return engine.setting(original, name, _watch_of)


def _watch_of(constraint: Any) -> SceneWatch | None:
    """What watches a constraint's scene now; None where nobody does."""
    if not engine.watched and not engine.newcomers:
        return None
    try:
        return engine.find_of(constraint.get_actor(0))
    except Exception:  # noqa: BLE001 a constraint that is gone: its own call says so
        return None
