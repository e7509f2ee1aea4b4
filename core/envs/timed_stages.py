"""The stages of a control step as they are, each of them timed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.core.envs.stages import WrappedStages

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from isoscope.core.envs.lanes import LaneGroup
    from isoscope.core.envs.profiling import Profiler
    from isoscope.core.envs.stages import Stages
    from isoscope.core.scene import Array, StepReport, Worlds


class TimedStages(WrappedStages):
    """The stages as they are, timed."""

    def __init__(self, inner: Stages, profiler: Profiler) -> None:
        super().__init__(inner)
        self._part = profiler.part

    def reset(self, lanes: LaneGroup, worlds: Worlds) -> None:
        """Time it as ``begin``: initial state, draws, one short step."""
        with self._part("begin"):
            self.inner.reset(lanes, worlds)

    def restore(self, lanes: LaneGroup) -> None:
        """Time it."""
        with self._part("restore"):
            self.inner.restore(lanes)

    def apply(self, lanes: LaneGroup, action: Array, substep: int) -> None:
        """Time it, as a part of the substeps."""
        with self._part("substeps"), self._part("apply"):
            self.inner.apply(lanes, action, substep)

    def step(self, lanes: LaneGroup, substep: int) -> StepReport:
        """Time it, as a part of the substeps."""
        with self._part("substeps"):
            return self.inner.step(lanes, substep)

    def capture(self, lanes: LaneGroup) -> None:
        """Time it."""
        with self._part("capture"):
            self.inner.capture(lanes)

    def observe(self, lanes: LaneGroup) -> Array:
        """Time it."""
        with self._part("observe"):
            return self.inner.observe(lanes)

    def reward(
        self, lanes: LaneGroup, action: Array, seen: Array
    ) -> Mapping[str, Array]:
        """Time it."""
        with self._part("reward"):
            return self.inner.reward(lanes, action, seen)

    def stop(self, lanes: LaneGroup, seen: Array) -> Mapping[str, Array]:
        """Time it."""
        with self._part("stop"):
            return self.inner.stop(lanes, seen)

    def read(self, lanes: LaneGroup, actor: int, field: str) -> np.ndarray[Any, Any]:
        """Time it: who looks at states while a step goes on pays for it there."""
        with self._part("read"):
            return self.inner.read(lanes, actor, field)
