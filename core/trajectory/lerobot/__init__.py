"""Episodes of demonstrations, in the frames that a LeRobot dataset is made of.

`chunk` takes a chunk apart, `frame` builds one frame, `episodes` keeps frames until
their episode ends, `output` emits the episodes, `writer` makes a dataset of them;
`options` says where this differs from RLinf's records, and how to have those.
"""

from __future__ import annotations

from isoscope.core.trajectory.lerobot.chunk import LeRobotChunk
from isoscope.core.trajectory.lerobot.episodes import (
    LeRobotEpisodeAccumulator,
    LeRobotEpisodeState,
)
from isoscope.core.trajectory.lerobot.frame import LeRobotFrame
from isoscope.core.trajectory.lerobot.options import LeRobotOptions, Pairing
from isoscope.core.trajectory.lerobot.shapes import executed_mask
from isoscope.core.trajectory.lerobot.step import LeRobotStep
from isoscope.core.trajectory.lerobot.writer import (
    LeRobotDatasetWriter,
    episode_boundaries,
)

__all__ = [
    "LeRobotChunk",
    "LeRobotDatasetWriter",
    "LeRobotEpisodeAccumulator",
    "LeRobotEpisodeState",
    "LeRobotFrame",
    "LeRobotOptions",
    "LeRobotStep",
    "Pairing",
    "episode_boundaries",
    "executed_mask",
]
