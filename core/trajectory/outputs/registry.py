"""Which strategy serves which mode, imported only when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from isoscope.core.trajectory.plan import TrajectoryMode

if TYPE_CHECKING:
    from isoscope.core.trajectory.outputs.base import OutputStrategy

_HOME = "isoscope.core.trajectory"
STRATEGIES = {
    TrajectoryMode.ROLLOUT: (f"{_HOME}.outputs.rollout", "RolloutOutput"),
    TrajectoryMode.PIPELINE: (f"{_HOME}.preprocess.output", "PipelineOutput"),
    TrajectoryMode.LEROBOT: (f"{_HOME}.lerobot.output", "LeRobotOutput"),
}


def strategy(mode: TrajectoryMode) -> type[OutputStrategy[Any]]:
    """The class that serves this mode."""
    module, name = STRATEGIES[mode]
    found: type[OutputStrategy[Any]] = getattr(import_module(module), name)
    return found
