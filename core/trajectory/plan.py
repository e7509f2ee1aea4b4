"""How a run is laid out: the mode, and how many sources, chunks, shards and actors.

Read from the run's configuration (sections 1.12 and 1.13 of the contract).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from isoscope.core.trajectory.errors import TrajectoryValueError
from isoscope.core.trajectory.settings import lookup, switch, whole

LEAST_LOADED = "least_loaded"


class TrajectoryMode(StrEnum):
    """What the actors get."""

    ROLLOUT = "rollout"
    PIPELINE = "pipeline"
    LEROBOT = "lerobot"

    @property
    def dispatcher(self) -> str | None:
        """How items are dealt to the consumers; None where keys already say whose.

        Rollout and lerobot items share one queue key, and an actor that polls must not
        take what is meant for its peers.
        """
        return None if self is TrajectoryMode.PIPELINE else LEAST_LOADED


@dataclass(frozen=True, slots=True)
class RolloutGeometry:
    """The sizes that follow from the configuration and the two worlds.

    Attributes
    ----------
    source_count
        Logical producers: environment workers times pipeline stages.
    chunk_count
        Chunks per rollout epoch and source, n.
    shards_per_source
        Into how many equal parts a source's trajectory is cut.
    actor_world_size
        How many actors train.
    """

    source_count: int
    chunk_count: int
    shards_per_source: int
    actor_world_size: int

    @classmethod
    def from_cfg(
        cls, cfg: Any, *, env_world_size: int = 1, actor_world_size: int = 1
    ) -> RolloutGeometry:
        """Read it from a run's configuration.

        Raises
        ------
        TrajectoryValueError
            If a size is missing, or isn't a positive number.
        """
        stages = whole(cfg, "rollout.pipeline_stage_num", 1)
        steps = whole(cfg, "env.train.max_steps_per_rollout_epoch", 1)
        width = whole(cfg, "actor.model.num_action_chunks", 1)
        worlds: dict[str, Any] = {"env": env_world_size, "actor": actor_world_size}
        for name, size in worlds.items():
            if isinstance(size, bool) or not isinstance(size, int) or size < 1:
                raise TrajectoryValueError(
                    f"laying out the run: the {name} world size is {size!r}; "
                    "give how many workers there are, 1 or more"
                )
        sources = env_world_size * stages
        return cls(
            source_count=sources,
            chunk_count=steps // width,
            shards_per_source=math.lcm(sources, actor_world_size) // sources,
            actor_world_size=actor_world_size,
        )


@dataclass(frozen=True, slots=True)
class TrajectoryPlan:
    """The mode and the geometry of a run."""

    mode: TrajectoryMode
    geometry: RolloutGeometry

    @property
    def dispatcher(self) -> str | None:
        """How items are dealt to the consumers."""
        return self.mode.dispatcher

    @classmethod
    def from_cfg(
        cls, cfg: Any, *, env_world_size: int = 1, actor_world_size: int = 1
    ) -> TrajectoryPlan:
        """Read both from a run's configuration."""
        return cls(
            cls.mode_from_cfg(cfg),
            RolloutGeometry.from_cfg(
                cfg, env_world_size=env_world_size, actor_world_size=actor_world_size
            ),
        )

    @staticmethod
    def mode_from_cfg(cfg: Any) -> TrajectoryMode:
        """Choose the mode.

        Raises
        ------
        TrajectoryValueError
            For a training pipeline together with online LeRobot, with the decoupled
            mode or with the advantage type opd; for a switch that is neither on nor
            off.
        """
        lerobot = switch(cfg, "algorithm.dagger.online_lerobot.enabled", False)
        pipeline = switch(cfg, "runner.use_training_pipeline", False)
        if pipeline:
            why = None
            if lerobot:
                why = "online LeRobot (algorithm.dagger.online_lerobot.enabled)"
            elif switch(cfg, "runner.enable_decoupled_mode", False):
                why = "the decoupled mode (runner.enable_decoupled_mode)"
            elif lookup(cfg, "algorithm.adv_type", None) == "opd":
                why = "algorithm.adv_type opd, whose teacher only exists on the actors"
            if why is not None:
                raise TrajectoryValueError(
                    "choosing the mode: runner.use_training_pipeline does not support "
                    f"{why}; switch one of the two off"
                )
        if lerobot:
            return TrajectoryMode.LEROBOT
        return TrajectoryMode.PIPELINE if pipeline else TrajectoryMode.ROLLOUT
