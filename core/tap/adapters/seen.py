"""Arrays of the worlds that are seen, brought to the host a few copies at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.recording.tracks import Array
    from isoscope.core.scene import Scene

CAUSE = "tap"


class Seen:
    """The worlds of a scene that are seen.

    Attributes
    ----------
    worlds
        Their numbers, S of them.
    all
        Whether these are all that the scene has.
    """

    def __init__(self, scene: Scene, worlds: Sequence[int]) -> None:
        self.worlds = list(worlds)
        self.all = len(self.worlds) == scene.worlds
        self._scene = scene
        self._index: Any = None

    def host(self, arrays: Sequence[Any]) -> list[Array]:
        """Rows that are seen of arrays [W, …]: [S, …] each, owned.

        Arrays of one kind, shape and dtype cross over together.
        """
        scene = self._scene
        some = [self._some(array) for array in arrays]
        kinds = {(type(array), array.dtype, tuple(array.shape)) for array in some}
        if len(some) < 2 or len(kinds) > 1 or isinstance(some[0], np.ndarray):
            return [scene.to_host(array, CAUSE) for array in some]
        return list(scene.to_host(scene.xp.stack(some), CAUSE))

    def told(self, arrays: Sequence[Any], absent: Any) -> Array:
        """Those of several arrays [W], [n, S]; `absent` where there is none."""
        there = [at for at, array in enumerate(arrays) if array is not None]
        host = self.host([arrays[at] for at in there])
        if len(there) == len(arrays):
            return np.stack(host)
        found = [np.full(len(self.worlds), absent)] * len(arrays)
        for at, array in zip(there, host, strict=True):
            found[at] = array
        return np.stack(found)

    def inputs(self, given: Sequence[Any], into: Array) -> Array:
        """Fill in inputs; where they are known, bool [n, S].

        Parameters
        ----------
        given
            Of each step the values [W, size], and in which worlds they are known, bool
            [W] or None for all; or None where they aren't known at all.
        into
            [n, S, size]; zero so far.
        """
        known = [one is not None for one in given]
        if not any(known):
            return np.zeros(into.shape[:2], np.bool_)
        masks = [None if one is None else one[1] for one in given]
        there: Array = self.told(masks, True) & np.array(known)[:, None]
        host = self.host([one[0] for one in given if one is not None])
        for at, array in zip(np.flatnonzero(known).tolist(), host, strict=True):
            seen = there[at]
            into[at][seen] = array.reshape(into.shape[1:])[seen]
        return there

    def _some(self, array: Any) -> Any:
        if self.all:
            return array
        if isinstance(array, np.ndarray):
            return array[self.worlds]
        if self._index is None:
            numbers = np.array(self.worlds, np.int64)
            self._index = self._scene.to_device(numbers, CAUSE)
        return self._scene.xp.take(array, self._index, axis=0)
