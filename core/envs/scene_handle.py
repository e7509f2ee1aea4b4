"""A scene and who shares it: its thread, initial state, cleanups, whose turn it is.

Environments reach their scene only through this, so that entering it from a foreign
thread is refused, and every capture and restore is told to those who listen.
"""

from __future__ import annotations

import threading
from itertools import count
from typing import TYPE_CHECKING, Any

from isoscope.core.envs.errors import (
    CleanupError,
    SceneClosedError,
    SceneThreadError,
)
from isoscope.core.envs.events import scene_events
from isoscope.core.errors import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from isoscope.core.envs.events import EventKind
    from isoscope.core.envs.lanes import LaneGroup
    from isoscope.core.envs.scene_key import SceneKey
    from isoscope.core.scene import Scene, Worlds

_numbers = count(1)


class SceneHandle:
    """A scene, shared or not.

    Attributes
    ----------
    number
        The scene's number in this process, from 1.
    resident
        The lanes whose state the scene holds now; None if nobody's.
    stepping
        The lanes that step it right now, for callbacks that want to know whose step it
        is (`LaneGroup.place` says where these lanes are); None between steps.
    initial
        Handle of the state that every episode begins from.
    nominal
        Persistent configuration as the environments want it, before any randomisation.
    cleanups
        Name and callback, run in reverse when the last environment lets go.
    """

    def __init__(
        self, scene: Scene, key: SceneKey, wanted: Mapping[str, Any] | None = None
    ) -> None:
        self.scene = scene
        self.key = key
        self.number = next(_numbers)
        self.thread = threading.get_ident()
        self.resident: LaneGroup | None = None
        self.stepping: LaneGroup | None = None
        self.users = 0
        self.closed = False
        self.cleanups: list[tuple[str, Callable[[], None]]] = []
        for name, value in (wanted or {}).items():
            scene.configure(name, scene.to_device(value, "configuration"))
        self.nominal = dict(scene.persistent_configuration())
        self.initial = scene.capture()

    def tell(self, kind: EventKind, env: int = -1, **detail: Any) -> None:
        """Tell an event of this scene."""
        scene_events.tell(
            kind, self.number, self.scene.name, str(self.key), env, **detail
        )

    # -- entering ----------------------------------------------------------------------

    def enter(self, env: int = -1) -> Scene:
        """Give the scene to an environment, if this is the scene's thread.

        Raises
        ------
        SceneThreadError, SceneClosedError
        """
        if self.closed:
            raise SceneClosedError(
                f"entering scene {self.scene.name}: it is closed; make the environment "
                "anew"
            )
        if threading.get_ident() != self.thread:
            self.tell("thread", env, owner=self.thread)
            raise SceneThreadError(
                f"entering scene {self.scene.name} for env {env} from thread "
                f"{threading.get_ident()}: it belongs to thread {self.thread}; step an "
                "environment in the thread that made it, or hand its scene over first"
            )
        return self.scene

    def hand_over(self, thread: int | None = None) -> None:
        """Give the scene to another thread (this one, if None), between steps."""
        self.thread = threading.get_ident() if thread is None else thread

    # -- snapshots ---------------------------------------------------------------------

    def capture(self, env: int = -1) -> int:
        """Capture all worlds."""
        handle = self.scene.capture()
        self.tell("capture", env, handle=handle)
        return handle

    def restore(
        self,
        handle: int,
        worlds: Worlds = None,
        env: int = -1,
        *,
        release_immediately: bool = False,
    ) -> None:
        """Go back to a captured state; tells a failure before raising it."""
        try:
            self.scene.restore(handle, release_immediately, worlds)
        except Exception as error:
            self.tell("failure", env, doing="restore", problem=one_line(error))
            raise
        self.tell("restore", env, handle=handle)

    def release(self, handle: int) -> None:
        """Forget a captured state."""
        if not self.closed:
            self.scene.release(handle)

    # -- letting go --------------------------------------------------------------------

    def add_cleanup(self, name: str, callback: Callable[[], None]) -> None:
        """Have something called when the last environment lets go."""
        self.cleanups.append((name, callback))

    def clean_up(self) -> None:
        """Run the cleanups in reverse and close the scene.

        Raises
        ------
        CleanupError
            If one fails. It and those before it are kept for another try, and the scene
            stays as it is.
        """
        while self.cleanups:
            name, callback = self.cleanups[-1]
            try:
                callback()
            except Exception as error:
                self.tell("failure", doing=f"cleanup {name}", problem=one_line(error))
                raise CleanupError(
                    f"cleaning up scene {self.scene.name}: {name} failed "
                    f"({one_line(error)}); the scene is kept, release it again to retry"
                ) from error
            self.cleanups.pop()
            self.tell("cleanup", cleanup=name)
        self.scene.close()
        self.closed = True
        self.tell("close")
