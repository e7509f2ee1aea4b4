"""Sees what is done to native scenes: every step, restore, capture and setting.

The engine's scenes are native objects to which no attribute can be added, and its
callbacks tell of steps only. So the methods of their class are wrapped, once a process;
a scene that nobody watches goes straight through.
"""

from __future__ import annotations

import functools
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.tap.adapters.superdex.mochi import MochiTap
    from isoscope.core.tap.adapters.superdex.watch import SceneWatch

# What changes the persistent configuration or the topology, by the start of its name.
SCENE_SETTINGS = ("set_", "enable_", "clear_", "create_", "destroy_")
ACTOR_SETTINGS = (
    "set_articulated_joint_friction_params",
    "set_articulated_joint_inertia_params",
    "set_articulated_pose_controller_params",
    "add_articulated_pose_controller",
    "remove_articulated_pose_controller",
    "set_contact_layer",
    "set_contact_params",
    "set_density",
    "set_inertia_properties",
    "set_recentering_params",
    "set_soft_material_params",
)
# Scenes hash by identity, and an environment's scene stays the same object.
watched: dict[Any, SceneWatch] = {}
# Actors of theirs that need no more than what is read after every step anyway.
quiet: set[Any] = set()
# What watches the scenes that are within a native step right now.
stepping: set[SceneWatch] = set()
# Who is in an environment's reset right now, by thread: it may make a new scene.
newcomers: dict[int, Callable[[Any], SceneWatch | None]] = {}
# Whose environment it is, by its id: weak references are dead while one is finalised.
taps: weakref.WeakValueDictionary[int, MochiTap] = weakref.WeakValueDictionary()
NOT_GIVEN: Any = object()
_patched: weakref.WeakSet[type] = weakref.WeakSet()


def patch(scene: Any, actors: list[Any]) -> bool:
    """See what is done to scenes and actors of these classes; whether that works."""
    try:
        _patch_scenes(type(scene))
        for actor in actors[:1]:
            _patch_actors(type(actor))
    except (AttributeError, TypeError):
        return False
    return True


def patch_environments(kind: type) -> None:
    """See environments let go of their scenes, also where nobody closes them."""
    owner = next((k for k in kind.__mro__ if "_release_scene" in vars(k)), None)
    if owner is None or owner in _patched:
        return
    wrap(owner, "_release_scene", _leave)
    _patched.add(owner)


def _patch_scenes(kind: type) -> None:
    if kind in _patched:
        return
    wrap(kind, "step", _step)
    for name in ("restore_state", "restore_state_from_bytes"):
        wrap(kind, name, _restore)
    wrap(kind, "capture_state", _capture)
    for name in ("release_state", "release_all_states"):
        wrap(kind, name, _release)
    for name in dir(kind):
        if name.startswith(SCENE_SETTINGS):
            wrap(kind, name, _scene_setting)
    _patched.add(kind)


def _patch_actors(kind: type) -> None:
    if kind in _patched:
        return
    for name in ACTOR_SETTINGS:
        wrap(kind, name, _actor_setting)
    _patched.add(kind)


def wrap(
    kind: type, name: str, make: Callable[[Callable[..., Any], str], Callable[..., Any]]
) -> None:
    """Put what `make` makes of a method in its place, if the class has it."""
    original = getattr(kind, name, None)
    if original is None:
        return
    wrapped = make(original, name)
    functools.update_wrapper(wrapped, original, ("__name__", "__qualname__", "__doc__"))
    setattr(kind, name, wrapped)


def find(scene: Any) -> SceneWatch | None:
    """What watches a scene now; None where nobody does."""
    watch = watched.get(scene)
    if watch is None and newcomers:
        from threading import get_ident

        meet = newcomers.get(get_ident())
        if meet is not None:
            watch = meet(scene)
    return watch if watch is not None and watch.session.on else None


def find_of(actor: Any) -> SceneWatch | None:
    """What watches an actor's scene now; None where nobody does."""
    if not watched and not newcomers:
        return None
    try:
        return find(actor.get_scene())
    except Exception:  # noqa: BLE001 an actor that is gone: its own call says so
        return None


# Native functions are called fastest with arguments by place: where they come as the
# engine's own environments give them, they are passed on so.


def _step(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    def step(
        scene: Any, time_step_sec: Any = NOT_GIVEN, *args: Any, **kwargs: Any
    ) -> Any:
        call = original
        if args or kwargs or time_step_sec is NOT_GIVEN:
            call = bound(original, time_step_sec, args, kwargs)
        watch = watched.get(scene)
        if watch is None or not watch.session.on:
            watch = find(scene)
            if watch is None:
                return call(scene, time_step_sec)
        if watch.dirty:
            watch.begins()
        stepping.add(watch)
        try:
            result = call(scene, time_step_sec)
        except BaseException as error:
            stepping.discard(watch)
            watch.broke(time_step_sec, error)
            raise
        stepping.discard(watch)
        watch.stepped(time_step_sec)
        return result

    return step


def bound(
    original: Callable[..., Any], given: Any, args: tuple[Any, ...], kwargs: Any
) -> Callable[..., Any]:
    """The call with all that was given, whatever the engine says of it."""
    every = args if given is NOT_GIVEN else (given, *args)
    return lambda scene, _: original(scene, *every, **kwargs)


def _restore(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    def restore(
        scene: Any,
        handle: Any = NOT_GIVEN,
        release_immediately: Any = NOT_GIVEN,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        watch = watched.get(scene)
        if watch is None or not watch.session.on:
            watch = find(scene)
        try:
            if args or kwargs or release_immediately is NOT_GIVEN:
                if release_immediately is not NOT_GIVEN:
                    args = release_immediately, *args
                call = bound(original, handle, args, kwargs)
                result = call(scene, None)
            else:
                result = original(scene, handle, release_immediately)
        except BaseException as error:
            if watch is not None:
                watch.failed("restore", error)
            raise
        if watch is not None:
            gone = release_immediately
            if gone is NOT_GIVEN:
                gone = kwargs.get("release_immediately", False)
            watch.restored(handle, bool(gone))
        return result

    return restore


def _capture(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    def capture(scene: Any, *args: Any, **kwargs: Any) -> Any:
        watch = watched.get(scene)
        if watch is None or not watch.session.on:
            watch = find(scene)
            if watch is None:
                return original(scene, *args, **kwargs)
        try:
            result = original(scene, *args, **kwargs)
        except BaseException as error:
            watch.failed("capture", error)
            raise
        watch.captured(result)
        return result

    return capture


def _release(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    def release(scene: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(scene, *args, **kwargs)
        watch = find(scene)
        if watch is not None:
            watch.released(args[0] if args else kwargs.get("handle"))
        return result

    return release


def _leave(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    def release_scene(env: Any) -> Any:
        tap = taps.get(id(env))
        return original(env) if tap is None else tap.releases(env, original)

    return release_scene


def _scene_setting(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    return setting(original, name, find)


def _actor_setting(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    return setting(original, name, find_of)


def setting(
    original: Callable[..., Any], name: str, finds: Callable[[Any], SceneWatch | None]
) -> Callable[..., Any]:
    """A method that changes the configuration or the topology.

    Parameters
    ----------
    finds
        What watches the scene, given what the method is of.
    """

    def change(thing: Any, *args: Any, **kwargs: Any) -> Any:
        watch = finds(thing)
        if watch is not None:
            watch.changes(within=watch in stepping)
        try:
            return original(thing, *args, **kwargs)
        finally:
            if watch is not None:
                watch.changed(name, within=watch in stepping)

    return change
