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
from isoscope.core.envs.events import SceneEvent, scene_events
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
    thread
        Whose the scene is: the first one that entered it; None before that.
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
        # by its object: the number of a thread that ended is given to others
        self.thread: threading.Thread | None = None
        self.resident: LaneGroup | None = None
        self.stepping: LaneGroup | None = None
        self.reading: LaneGroup | None = None
        self.users = 0
        self.closed = False
        self.cleanups: list[tuple[str, Callable[[], None]]] = []
        for name, value in (wanted or {}).items():
            scene.configure(name, scene.to_device(value, "configuration"))
        self.nominal = dict(scene.persistent_configuration())
        self.initial = scene.capture()

    def tell(self, kind: EventKind, env: int = -1, /, **detail: Any) -> None:
        """Tell an event of this scene; next to nothing where nobody listens."""
        if scene_events.listened_to:
            key = str(self.key)
            scene_events.tell(
                SceneEvent(kind, self.number, self.scene.name, key, env, detail=detail)
            )

    # -- entering ----------------------------------------------------------------------

    def enter(self, env: int = -1, *, bind: bool = True) -> Scene:
        """Give the scene to an environment, if this is the scene's thread.

        Parameters
        ----------
        bind
            Whether a scene that no thread has entered yet becomes this thread's. Being
            made and looked at does not bind a scene, being reset does.

        Raises
        ------
        SceneThreadError, SceneClosedError
        """
        if self.closed:
            raise SceneClosedError(
                f"entering scene {self.scene.name}: it is closed; make the environment "
                "anew"
            )
        here = threading.current_thread()
        if self.thread is None:
            self.thread = here if bind else None
        elif here is not self.thread:
            self.tell("thread", env, owner=self.thread.ident)
            raise SceneThreadError(
                f"entering scene {self.scene.name} for env {env} from thread "
                f"{here.name}: it belongs to thread {self.thread.name}; step an "
                "environment in one thread only, and give each thread scenes of its own"
            )
        return self.scene

    def leave(self, env: int = -1) -> bool:
        """Enter to let go; whether the scene may still be touched.

        An environment whose thread has ended can be closed from others; its snapshots
        then go with the scene.

        Raises
        ------
        SceneThreadError
            From a foreign thread while the scene's own is alive.
        """
        if self.thread is not None and not self.thread.is_alive():
            return False
        if not self.closed:
            self.enter(env, bind=False)
        return not self.closed

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
