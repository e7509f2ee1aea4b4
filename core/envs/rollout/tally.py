"""Counts how native steps went, where they are taken; nothing is read back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from isoscope.core.envs.stages import Stages

if TYPE_CHECKING:
    from isoscope.core.envs.lanes import LaneGroup
    from isoscope.core.envs.records import ControlStep
    from isoscope.core.scene import Array

CONVERGED, STOPPED, DIVERGED = 0, 1, 2
STATUSES = (CONVERGED, STOPPED, DIVERGED)


class SolverTally(Stages):
    """The usual stages, which count the solver's statuses on the way."""

    def __init__(self) -> None:
        self._counts: WeakKeyDictionary[LaneGroup, Array] = WeakKeyDictionary()
        self._kept = np.zeros(len(STATUSES), np.int64)

    def result(self, lanes: LaneGroup, step: ControlStep) -> ControlStep:
        """Count the native steps of a control step."""
        if len(lanes.envs) == 1:
            for report in step.reports:
                status = int(report.status[0])
                if status >= 0:
                    self._kept[status] += 1
            return step
        xp = lanes.xp
        count = self._counts.get(lanes)
        for report in step.reports:
            fresh = xp.stack([(report.status == status).sum() for status in STATUSES])
            count = fresh if count is None else count + fresh
        self._counts[lanes] = count
        return step

    def counts(self) -> tuple[int, int, int]:
        """Converged, stopped, diverged; crosses over from a device."""
        total = self._kept.copy()
        for lanes, count in self._counts.items():
            total += lanes.scene.to_host(count, "solver")
        converged, stopped, diverged = (int(number) for number in total)
        return converged, stopped, diverged

    def __getstate__(self) -> dict[str, Any]:
        return {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        SolverTally.__init__(self)
