"""From action chunks to training batches: keys, parts, joining, trajectories, outputs.

The shapes, the alignment and the error types are those of RLinf's trajectory collector
(concept page and behaviour of September 2026), so that data moves between the two:
the trajectory contract, in ``docs/trajectory-contract.md``, whose sections docstrings
refer to.

The names below are imported when they are first asked for, so that keys, events and
reports can be used without torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isoscope.core.trajectory.collector import TrajectoryCollector
    from isoscope.core.trajectory.env import EnvPart, EnvTransition, TrajectoryPart
    from isoscope.core.trajectory.fields import Field, Merge, Owner, Rows, declare
    from isoscope.core.trajectory.joiner import ChunkJoiner, JoinedChunk
    from isoscope.core.trajectory.keys import TrajectoryKey, TrajectorySource
    from isoscope.core.trajectory.plan import (
        RolloutGeometry,
        TrajectoryMode,
        TrajectoryPlan,
    )
    from isoscope.core.trajectory.policy import PolicyOutput, PolicyPart
    from isoscope.core.trajectory.policy_input import PolicyInput
    from isoscope.core.trajectory.steps import TrajectoryStep
    from isoscope.core.trajectory.trajectory import Trajectory

_WHERE = {
    "ChunkJoiner": "joiner",
    "EnvPart": "env",
    "EnvTransition": "env",
    "Field": "fields",
    "JoinedChunk": "joiner",
    "Merge": "fields",
    "Owner": "fields",
    "PolicyInput": "policy_input",
    "PolicyOutput": "policy",
    "PolicyPart": "policy",
    "RolloutGeometry": "plan",
    "Rows": "fields",
    "Trajectory": "trajectory",
    "TrajectoryCollector": "collector",
    "TrajectoryKey": "keys",
    "TrajectoryMode": "plan",
    "TrajectoryPart": "env",
    "TrajectoryPlan": "plan",
    "TrajectorySource": "keys",
    "TrajectoryStep": "steps",
    "declare": "fields",
}

__all__ = [
    "ChunkJoiner",
    "EnvPart",
    "EnvTransition",
    "Field",
    "JoinedChunk",
    "Merge",
    "Owner",
    "PolicyInput",
    "PolicyOutput",
    "PolicyPart",
    "RolloutGeometry",
    "Rows",
    "Trajectory",
    "TrajectoryCollector",
    "TrajectoryKey",
    "TrajectoryMode",
    "TrajectoryPart",
    "TrajectoryPlan",
    "TrajectorySource",
    "TrajectoryStep",
    "declare",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
