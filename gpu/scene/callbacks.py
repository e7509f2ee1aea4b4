"""Callbacks around a step: put on, taken off, called in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.scene import Callback, Scene


class Callbacks:
    """One list of callbacks; each registration stands for itself.

    One that is taken off while a step runs is not called any more; one that is put on
    while a step runs is called from the next step on.
    """

    def __init__(self) -> None:
        self._registered: dict[int, Callback] = {}
        self._next = 0

    def __len__(self) -> int:
        return len(self._registered)

    def add(self, callback: Callback) -> Callable[[], None]:
        """Put one on; returns what takes it off, which may be called twice."""
        number = self._next
        self._next += 1
        self._registered[number] = callback

        def take_off() -> None:
            self._registered.pop(number, None)

        return take_off

    def clear(self) -> None:
        """Take all off."""
        self._registered.clear()

    def call(self, scene: Scene, h_s: float) -> None:
        """Call all in the order they were put on; the first that raises ends it."""
        for number in tuple(self._registered):
            callback = self._registered.get(number)
            if callback is not None:
                callback(scene, h_s)

    def call_each(self, scene: Scene, h_s: float) -> None:
        """Call all, also after one raised; then raise the first error.

        For recorders: that one of them fails must not cost the others a step.
        """
        first: BaseException | None = None
        for number in tuple(self._registered):
            callback = self._registered.get(number)
            if callback is None:
                continue
            try:
                callback(scene, h_s)
            except BaseException as error:  # noqa: BLE001 - raised below
                if first is None:
                    first = error
                else:
                    first.add_note(f"another recorder failed too: {error!r}")
        if first is not None:
            raise first
