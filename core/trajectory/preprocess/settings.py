"""What the preparation of training batches reads from a run's configuration.

Read and checked before anything is collected: a combination that can only fail once an
epoch is complete is refused at once, by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isoscope.core.trajectory.errors import (
    TrajectoryAssertionError,
    TrajectoryKeyError,
    TrajectoryValueError,
)
from isoscope.core.trajectory.preprocess.advantages import advantage
from isoscope.core.trajectory.preprocess.prepare import CHUNK_LEVEL
from isoscope.core.trajectory.settings import (
    lookup,
    number,
    switch,
    whole,
    whole_or_none,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

READING = "reading the run's configuration"
VIDEO_MODES = ("frame", "video")


@dataclass(frozen=True, slots=True)
class PreprocessSettings:
    """How training batches are prepared; section 1.13 of the contract.

    Attributes
    ----------
    adv_type
        The kind of advantages.
    reward_type
        ``"chunk_level"`` sums the rewards of a chunk.
    auto_reset, ignore_terminations
        Of the environments; only with both off is there a loss mask.
    rollout_epoch
        E; 1 for what the pipeline flushes.
    num_action_chunks
        C.
    gamma, gae_lambda
        Of ``gae``.
    group_size
        Consecutive environments of a group; None where nothing needs groups.
    normalize_advantages
        Whether an actor normalises over all its rows.
    filter_rewards, rewards_lower_bound, rewards_upper_bound
        Whether groups are left out, and between which mean returns they stay.
    advantage_mode
        Of ``grpo_video``.
    collect_prev_infos
        Whether log-probabilities and values are kept.
    shuffle_rollout, micro_batch_size, seed
        Of the micro-batches; None where none are made.
    """

    adv_type: str
    reward_type: str
    auto_reset: bool
    ignore_terminations: bool
    rollout_epoch: int = 1
    num_action_chunks: int = 1
    gamma: float = 1.0
    gae_lambda: float = 1.0
    group_size: int | None = None
    normalize_advantages: bool = True
    filter_rewards: bool = False
    rewards_lower_bound: float | None = None
    rewards_upper_bound: float | None = None
    advantage_mode: str | None = None
    collect_prev_infos: bool = True
    shuffle_rollout: bool = True
    micro_batch_size: int | None = None
    seed: int | None = None

    @classmethod
    def from_cfg(cls, cfg: Any) -> PreprocessSettings:
        """Read them, and refuse what can't work together.

        Raises
        ------
        TrajectoryValueError
            If a value is missing, or :meth:`check` refuses it.
        """
        task = lookup(cfg, "runner.task_type", "embodied")
        if task != "embodied":
            raise TrajectoryValueError(
                f"{READING}: runner.task_type {task!r} is not supported; there is "
                "embodied"
            )
        found = cls(
            adv_type=str(lookup(cfg, "algorithm.adv_type")),
            reward_type=str(lookup(cfg, "algorithm.reward_type")),
            auto_reset=switch(cfg, "env.train.auto_reset"),
            ignore_terminations=switch(cfg, "env.train.ignore_terminations"),
            rollout_epoch=whole(cfg, "env.train.rollout_epoch"),
            num_action_chunks=whole(cfg, "actor.model.num_action_chunks"),
            gamma=number(cfg, "algorithm.gamma", 1.0),
            gae_lambda=number(cfg, "algorithm.gae_lambda", 1.0),
            group_size=whole_or_none(cfg, "algorithm.group_size"),
            normalize_advantages=switch(cfg, "algorithm.normalize_advantages", True),
            filter_rewards=switch(cfg, "algorithm.filter_rewards", False),
            rewards_lower_bound=_bound(cfg, "algorithm.rewards_lower_bound"),
            rewards_upper_bound=_bound(cfg, "algorithm.rewards_upper_bound"),
            advantage_mode=lookup(cfg, "algorithm.advantage_mode", None),
            collect_prev_infos=switch(cfg, "rollout.collect_prev_infos", True),
            shuffle_rollout=switch(cfg, "algorithm.shuffle_rollout", True),
            micro_batch_size=whole_or_none(cfg, "actor.micro_batch_size"),
            seed=whole_or_none(cfg, "actor.seed"),
        )
        found.check()
        return found

    @property
    def has_mask(self) -> bool:
        """Whether batches carry a loss mask, the filter's included."""
        return self.filter_rewards or not (self.auto_reset or self.ignore_terminations)

    @property
    def columns(self) -> int:
        """Columns of advantages, values and mask: 1 by chunk, C by action."""
        return 1 if self.reward_type == CHUNK_LEVEL else self.num_action_chunks

    @property
    def groups(self) -> int:
        """The group size, or 1 where nothing is grouped."""
        return self.group_size or 1

    def check(self) -> None:
        """Refuse what can't work, whatever the data.

        Raises
        ------
        TrajectoryValueError
            For an unknown or unsupported `adv_type`; grpo, grpo_video or raw without a
            loss mask; a filter of action-level rewards without one; a filter without
            bounds; groups without a size.
        """
        kind = advantage(self.adv_type)
        if kind.needs_mask and not self.has_mask:
            raise TrajectoryValueError(
                f"{READING}: algorithm.adv_type {self.adv_type} needs a loss mask, and "
                "there is none; switch env.train.auto_reset and ignore_terminations "
                "off, or algorithm.filter_rewards on, or choose gae"
            )
        if self.filter_rewards:
            self._check_filter()
        if (self.filter_rewards or kind.grouped) and (self.group_size or 0) < 1:
            raise TrajectoryValueError(
                f"{READING}: algorithm.group_size is {self.group_size!r}; the reward "
                "filter, grpo and grpo_video need it, 1 or more"
            )
        if self.adv_type == "grpo_video" and self.advantage_mode not in VIDEO_MODES:
            raise TrajectoryValueError(
                f"{READING}: algorithm.advantage_mode is {self.advantage_mode!r}; "
                f"grpo_video needs {' or '.join(VIDEO_MODES)}"
            )

    def _check_filter(self) -> None:
        if self.rewards_lower_bound is None or self.rewards_upper_bound is None:
            raise TrajectoryValueError(
                f"{READING}: algorithm.filter_rewards needs rewards_lower_bound and "
                "rewards_upper_bound"
            )
        unmasked = self.auto_reset or self.ignore_terminations
        if unmasked and self.columns > 1:
            raise TrajectoryValueError(
                f"{READING}: algorithm.filter_rewards with reward_type "
                f"{self.reward_type} makes a mask of one column for advantages of "
                f"{self.columns}; choose reward_type chunk_level, or switch "
                "env.train.auto_reset and ignore_terminations off"
            )

    def check_micro_batches(self, chunks: int, shard_sizes: Iterable[int]) -> None:
        """Refuse shards that can't be made into micro-batches.

        Parameters
        ----------
        chunks
            T of a shard.
        shard_sizes
            The environments of every shard.

        Raises
        ------
        TrajectoryKeyError
            If log-probabilities are not kept.
        TrajectoryAssertionError
            If a shard's environments are not whole groups, with the reward filter.
        TrajectoryValueError
            If they are not whole groups otherwise, or its rows don't divide by the
            micro-batch size, or that or the seed is missing.
        """
        if not self.collect_prev_infos:
            raise TrajectoryKeyError(
                f"{READING}: rollout.collect_prev_infos is off, and micro-batches need "
                "prev_logprobs; set it to True or train without the pipeline"
            )
        for name, value in (
            ("actor.micro_batch_size", self.micro_batch_size),
            ("actor.seed", self.seed),
        ):
            if value is None:
                raise TrajectoryValueError(f"{READING}: {name} is missing; set it")
        grouped = advantage(self.adv_type).grouped
        for size in shard_sizes:
            if (self.filter_rewards or grouped) and size % self.groups:
                error = (
                    TrajectoryAssertionError
                    if self.filter_rewards
                    else TrajectoryValueError
                )
                raise error(
                    f"dividing the environments: an actor gets {size} of one source, "
                    f"which are not groups of algorithm.group_size {self.groups}; "
                    "change env.train.total_num_envs or the group size"
                )
            micro = self.micro_batch_size or 0
            if micro < 1 or (chunks * size) % micro:
                raise TrajectoryValueError(
                    f"dividing the rows: an actor gets {chunks * size} of one source "
                    f"({chunks} chunks of {size} environments), which don't divide by "
                    f"actor.micro_batch_size {self.micro_batch_size}"
                )


def _bound(cfg: Any, path: str) -> float | None:
    return None if lookup(cfg, path, None) is None else number(cfg, path, 0.0)
