"""What happens to scenes, told to whoever listens: the tap, the ledger, the audit.

One observer for the process. Nothing is put together while nobody listens.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from psygnal import Signal

if TYPE_CHECKING:
    from collections.abc import Mapping

EventKind: TypeAlias = Literal[
    "create",  # a scene was made
    "acquire",  # an environment got a share in it
    "release",  # an environment let go of its share
    "restore",  # a state was restored; detail: handle
    "capture",  # a state was captured; detail: handle
    "configure",  # persistent configuration changed; detail: entry
    "cleanup",  # a cleanup ran; detail: cleanup
    "failure",  # something failed; detail: doing, problem
    "thread",  # an entry from a foreign thread was refused; detail: owner
    "close",  # the scene is gone
]


@dataclass(frozen=True, slots=True)
class SceneEvent:
    """One event.

    Attributes
    ----------
    scene
        The scene's number in this process; 0 where there is none yet.
    name
        The scene's name.
    key
        The key it is shared under, as text.
    env
        The environment's number; -1 where it concerns none.
    time_ns
        Of the wall clock.
    """

    kind: EventKind
    scene: int
    name: str
    key: str
    env: int = -1
    time_ns: int = field(default_factory=time.time_ns)
    thread: int = field(default_factory=threading.get_ident)
    detail: Mapping[str, Any] = field(default_factory=dict)


class SceneEvents:
    """The observer. ``scene_events.happened.connect(callback)`` listens."""

    happened: ClassVar[Signal] = Signal(SceneEvent)

    @property
    def listened_to(self) -> bool:
        """Whether anybody listens; ask before putting an event together."""
        return len(self.happened) > 0

    def tell(self, event: SceneEvent) -> None:
        """Tell those who listen."""
        self.happened.emit(event)


scene_events = SceneEvents()
