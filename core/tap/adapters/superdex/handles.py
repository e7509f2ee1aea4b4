"""Handles of a native scene's states: which recorded snapshot each stands for."""

from __future__ import annotations

from typing import Any

MOST_HANDLES = 1 << 16


class Handles:
    """Those of one scene; -1 stands for no snapshot."""

    def __init__(self) -> None:
        self._snapshots: dict[int, int] = {}  # by the handle's value
        self._initial: set[int] = set()

    def __bool__(self) -> bool:
        """Whether anything is known of any."""
        return bool(self._snapshots or self._initial)

    def starts_from(self, handle: Any) -> None:
        """Be told of the state that resets begin from."""
        value = getattr(handle, "value", None)
        if value is not None and value not in self._snapshots:
            self._initial.add(value)

    def is_initial(self, handle: Any) -> bool:
        """Whether resets begin from it and it isn't recorded yet; True just once."""
        value = value_of(handle)
        found = value in self._initial
        self._initial.discard(value)
        return found

    def snapshot(self, handle: Any) -> int:
        """The snapshot that a handle stands for."""
        return self._snapshots.get(value_of(handle), -1)

    def stands_for(self, handle: Any, snapshot: int) -> None:
        """Be told the snapshot that a handle stands for."""
        if len(self._snapshots) >= MOST_HANDLES:
            self._snapshots.clear()
        self._snapshots[value_of(handle)] = snapshot

    def forget(self, handle: Any) -> None:
        """Be told that a handle is gone, or used again for another state."""
        if self._snapshots:
            self._snapshots.pop(value_of(handle), None)

    def clear(self) -> None:
        """Be told that all are gone."""
        self._snapshots.clear()
        self._initial.clear()


def value_of(handle: Any) -> int:
    """The number that the engine knows a handle by; -1 of what is none."""
    return int(getattr(handle, "value", -1))
