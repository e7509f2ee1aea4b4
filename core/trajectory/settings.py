"""What the collector reads from a run's configuration, each key once.

A configuration is anything with mappings or attributes inside one another: a plain
dict, an OmegaConf node, a namespace. The paths and their defaults are section 1.13 of
the trajectory contract.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from numbers import Integral, Real
from typing import Any

from isoscope.core.trajectory.errors import TrajectoryValueError

_REQUIRED = object()
RLT_LOSSES = ("rlt_ac", "rlt_td3")


class FlagRule(StrEnum):
    """What becomes of intervention flags that both sides gave.

    Attributes
    ----------
    KEEP_BOTH
        A number is flagged if either side flagged it, and what each side said is kept.
    POLICY_OVERWRITES
        The policy's flags replace the environment's, as RLinf does.
    """

    KEEP_BOTH = "keep_both"
    POLICY_OVERWRITES = "policy_overwrites"


def lookup(cfg: Any, path: str, default: Any = _REQUIRED) -> Any:
    """Read one value by its dotted path.

    Parameters
    ----------
    cfg
        The run's configuration.
    path
        Such as ``"env.train.rollout_epoch"``.
    default
        What holds if the value, or a section on the way, is missing. A value that is
        there and None is returned as None.

    Raises
    ------
    TrajectoryValueError
        If it is missing and there is no default.
    """
    value = cfg
    for name in path.split("."):
        if isinstance(value, Mapping):
            found = value.get(name, _REQUIRED)
        else:
            found = getattr(value, name, _REQUIRED)
        if found is _REQUIRED:
            if default is _REQUIRED:
                raise TrajectoryValueError(
                    f"reading the run's configuration: {path} is missing; set it"
                )
            return default
        value = found
    return value


def whole(cfg: Any, path: str, least: int = 0) -> int:
    """Read a whole number that has to be there.

    Raises
    ------
    TrajectoryValueError
        If it is missing, no whole number, or below `least`.
    """
    value = lookup(cfg, path)
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise TrajectoryValueError(
            f"reading the run's configuration: {path} is {value!r}; give a whole "
            f"number, {least} or more"
        )
    return int(value)


def number(cfg: Any, path: str, default: float) -> float:
    """Read a number.

    Raises
    ------
    TrajectoryValueError
        If it is none.
    """
    value = lookup(cfg, path, default)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TrajectoryValueError(
            f"reading the run's configuration: {path} is {value!r}; give a number"
        )
    return float(value)


def switch(cfg: Any, path: str, default: Any = _REQUIRED) -> bool:
    """Read whether something is on; a number or None is as in Python.

    Raises
    ------
    TrajectoryValueError
        If it is missing, or a text or a section: ``"false"`` would count as on.
    """
    value = lookup(cfg, path, default)
    if value is not None and not isinstance(value, bool | Real):
        if type(value).__name__ not in ("bool", "bool_"):  # NumPy's own
            raise TrajectoryValueError(
                f"reading the run's configuration: {path} is {value!r}; give true or "
                "false"
            )
    return bool(value)


def whole_or_none(cfg: Any, path: str) -> int | None:
    """Read a whole number that may be left out.

    Raises
    ------
    TrajectoryValueError
        If it is there and no whole number.
    """
    value = lookup(cfg, path, None)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TrajectoryValueError(
            f"reading the run's configuration: {path} is {value!r}; give a whole number"
        )
    return int(value)


@dataclass(frozen=True, slots=True)
class CollectorSettings:
    """The configuration's values that trajectories depend on.

    Attributes
    ----------
    total_num_envs
        Environments over all sources, N.
    max_episode_steps
        Low-level steps of the longest episode.
    rollout_epoch
        Rollout epochs per training step, E.
    auto_reset, ignore_terminations
        What the environments do when an episode ends.
    num_action_chunks, action_dim
        C and A.
    pipeline_stage_num
        Pipeline stages of one environment worker.
    collect_prev_infos
        Whether log-probabilities and values are kept.
    collect_transitions
        Whether observations before and after each chunk are kept.
    enable_rlt
        Whether the loss is one of the RLT losses.
    bootstrap_type, gamma
        How a cut episode's last reward is completed by the value that follows.
    env_reward_weight, reward_weight
        Weights of the environment's reward and of the reward model's.
    flag_rule
        What becomes of intervention flags that both sides gave.
    cfg
        All of it, for what only one strategy reads.
    """

    total_num_envs: int
    max_episode_steps: int
    rollout_epoch: int
    auto_reset: bool
    ignore_terminations: bool
    num_action_chunks: int
    action_dim: int
    pipeline_stage_num: int
    collect_prev_infos: bool = True
    collect_transitions: bool = False
    enable_rlt: bool = False
    bootstrap_type: str = "standard"
    gamma: float = 1.0
    env_reward_weight: float = 0.0
    reward_weight: float = 1.0
    flag_rule: FlagRule = FlagRule.KEEP_BOTH
    cfg: Any = field(default=None, repr=False, compare=False)

    @classmethod
    def from_cfg(cls, cfg: Any) -> CollectorSettings:
        """Read them from a run's configuration.

        Raises
        ------
        TrajectoryValueError
            If a required value is missing or can't be what it is for.
        """
        return cls(
            total_num_envs=whole(cfg, "env.train.total_num_envs"),
            max_episode_steps=whole(cfg, "env.train.max_episode_steps"),
            rollout_epoch=whole(cfg, "env.train.rollout_epoch"),
            auto_reset=switch(cfg, "env.train.auto_reset"),
            ignore_terminations=switch(cfg, "env.train.ignore_terminations"),
            num_action_chunks=whole(cfg, "actor.model.num_action_chunks"),
            action_dim=whole(cfg, "actor.model.action_dim"),
            pipeline_stage_num=whole(cfg, "rollout.pipeline_stage_num"),
            collect_prev_infos=switch(cfg, "rollout.collect_prev_infos", True),
            collect_transitions=switch(cfg, "rollout.collect_transitions", False),
            enable_rlt=lookup(cfg, "algorithm.loss_type", None) in RLT_LOSSES,
            bootstrap_type=str(lookup(cfg, "algorithm.bootstrap_type", "standard")),
            gamma=number(cfg, "algorithm.gamma", 1.0),
            env_reward_weight=number(cfg, "reward.env_reward_weight", 0.0),
            reward_weight=number(cfg, "reward.reward_weight", 1.0),
            flag_rule=_flag_rule(lookup(cfg, "algorithm.intervene_flags", None)),
            cfg=cfg,
        )

    def source_batch_size(self, source_count: int) -> int:
        """How many environments one source has.

        Raises
        ------
        TrajectoryValueError
            If the environments can't be divided evenly among the sources.
        """
        if self.total_num_envs < 1 or self.total_num_envs % source_count:
            raise TrajectoryValueError(
                f"dividing the environments: env.train.total_num_envs is "
                f"{self.total_num_envs}, which {source_count} sources can't share "
                f"evenly; make it a multiple of {source_count}"
            )
        return self.total_num_envs // source_count


def _flag_rule(value: Any) -> FlagRule:
    if value is None:
        return FlagRule.KEEP_BOTH
    try:
        return FlagRule(value)
    except ValueError:
        raise TrajectoryValueError(
            f"reading the run's configuration: algorithm.intervene_flags is {value!r}; "
            f"choose one of {', '.join(FlagRule)}"
        ) from None
