"""Who may enter a scene: one thread, no step within a step, nobody after the end."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from isoscope.gpu.scene.errors import SceneClosedError, SceneError, SceneThreadError

if TYPE_CHECKING:
    from collections.abc import Iterator


class Guard:
    """Lets the thread that stepped first into a scene, and no other.

    Before the first step any thread may build and set up a scene. The owner is known by
    its Thread object: the number of a thread that has ended is given to others.
    """

    def __init__(self, scene: str) -> None:
        self._scene = scene
        self._lock = threading.Lock()
        self._owner: threading.Thread | None = None
        self._stepping = False
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether the scene was closed."""
        return self._closed

    def enter(self, doing: str) -> None:
        """Refuse whoever must not do this now.

        Parameters
        ----------
        doing
            As a participle: ``"capturing the state"``.

        Raises
        ------
        SceneClosedError
            After the scene was closed.
        SceneThreadError
            From a thread that is not the owner.
        """
        if self._closed:
            raise SceneClosedError(
                f"{doing} of scene {self._scene}: it was closed; make a new one"
            )
        owner = self._owner
        if owner is not None and owner is not threading.current_thread():
            raise SceneThreadError(
                f"{doing} of scene {self._scene} from thread "
                f"{threading.current_thread().name}: thread {owner.name} steps it; a "
                "scene belongs to one thread, so call it from there or make another"
            )

    @contextmanager
    def stepping(self) -> Iterator[None]:
        """Hold the scene for one step; the first one to come becomes its owner.

        Raises
        ------
        SceneError
            Where a callback of a step begins another one.
        """
        with self._lock:
            self.enter("stepping")
            if self._stepping:
                raise SceneError(
                    f"stepping scene {self._scene} within its own step: a callback may "
                    "read and set the state, but not step"
                )
            if self._owner is None:
                self._owner = threading.current_thread()
            self._stepping = True
        try:
            yield
        finally:
            self._stepping = False

    def close(self) -> bool:
        """Close; False where that was done before.

        Raises
        ------
        SceneError
            During a step, by a callback or by another thread.
        """
        with self._lock:
            if self._stepping:
                raise SceneError(
                    f"closing scene {self._scene} during a step; close it afterwards"
                )
            first = not self._closed
            self._closed = True
            return first
