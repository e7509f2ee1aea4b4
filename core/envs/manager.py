"""Scenes by key, one manager for each class of environments, with reference counts.

Managers belong to the process's context, which outlives every environment. Whoever
makes a scene has no other standing than the rest: it may close first, and the scene
goes when the last environment lets go of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from isoscope.core.envs.errors import CleanupError
from isoscope.core.envs.events import SceneEvent, scene_events
from isoscope.core.errors import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from isoscope.core.envs.scene_handle import SceneHandle
    from isoscope.core.envs.scene_key import SceneKey


@dataclass(eq=False)
class Lease:
    """One environment's share in a scene.

    Attributes
    ----------
    visuals
        What takes this environment's visual handles off the scene again, by name.
    wanted
        Persistent configuration that this environment wants of the scene.
    """

    manager: SceneManager
    handle: SceneHandle
    env: int
    visuals: dict[str, Callable[[], None]] = field(default_factory=dict)
    wanted: Mapping[str, Any] = field(default_factory=dict)
    released: bool = False

    def add_visual(self, name: str, deregister: Callable[[], None]) -> None:
        """Remember a visual handle, to be taken off when the environment closes."""
        self.visuals[name] = deregister

    def release(self) -> None:
        """Let go; may be called twice.

        Raises
        ------
        CleanupError
            If a visual handle can't be taken off, or this was the last share and a
            cleanup of the scene failed. The scene is alive then.
        """
        self.manager.release(self)


class SceneManager:
    """The scenes of one class of environments."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.scenes: dict[SceneKey, SceneHandle] = {}

    def acquire(
        self, key: SceneKey, make: Callable[[SceneKey], SceneHandle], env: int = -1
    ) -> Lease:
        """Get a share in the scene of this key, which `make` makes if there is none.

        Raises
        ------
        SceneThreadError
            If the scene is another thread's.
        """
        handle = self.scenes.get(key)
        if handle is None:
            try:
                handle = make(key)
            except Exception as error:
                problem = one_line(error)
                detail = {"doing": "making a scene", "problem": problem}
                failure = SceneEvent(
                    "failure", 0, self.name, str(key), env, detail=detail
                )
                scene_events.tell(failure)
                raise
            self.scenes[key] = handle
            handle.tell("create", env)
        else:
            handle.enter(env, bind=False)
        handle.users += 1
        handle.tell("acquire", env, users=handle.users)
        return Lease(self, handle, env)

    def release(self, lease: Lease) -> None:
        """Let go of a share; the last one closes the scene."""
        handle = lease.handle
        if lease.released:
            # only a cleanup that failed before leaves something to do
            if handle.users == 0 and not handle.closed and self._has(handle):
                self._close(handle)
            return
        handle.leave(lease.env)
        lease.released = True
        handle.users -= 1
        handle.tell("release", lease.env, users=handle.users)
        failed: list[str] = []
        while lease.visuals:
            name, deregister = lease.visuals.popitem()
            try:
                deregister()
            except Exception as error:  # noqa: BLE001 - theirs; the others still go
                failed.append(f"{name} ({one_line(error)})")
                handle.tell(
                    "failure",
                    lease.env,
                    doing=f"deregistering {name}",
                    problem=one_line(error),
                )
        if handle.users == 0:
            self._close(handle)
        if failed:
            raise CleanupError(
                f"closing env {lease.env}: visual handles stay registered: "
                + ", ".join(failed)
            )

    def _has(self, handle: SceneHandle) -> bool:
        return self.scenes.get(handle.key) is handle

    def _close(self, handle: SceneHandle) -> None:
        handle.clean_up()
        if self._has(handle):
            del self.scenes[handle.key]


class Context:
    """What all environments of a process stand on; it outlives them."""

    def __init__(self) -> None:
        self._managers: dict[str, SceneManager] = {}

    def manager(self, name: str) -> SceneManager:
        """The manager of a class of environments."""
        return self._managers.setdefault(name, SceneManager(name))

    @property
    def scenes(self) -> tuple[SceneHandle, ...]:
        """All scenes alive."""
        return tuple(h for m in self._managers.values() for h in m.scenes.values())


context = Context()
