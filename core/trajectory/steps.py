"""One joined chunk, ready for training."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import torch

from isoscope.core.trajectory import interventions, observations
from isoscope.core.trajectory.errors import (
    TrajectoryRuntimeError,
    TrajectoryTypeError,
    TrajectoryValueError,
)
from isoscope.core.trajectory.fields import (
    Field,
    Owner,
    Rows,
    on_change,
    trajectory_fields,
)

if TYPE_CHECKING:
    from isoscope.core.trajectory.env import EnvPart
    from isoscope.core.trajectory.policy import PolicyPart
    from isoscope.core.trajectory.record import Tensor, Tree


@dataclass(init=False, eq=False, repr=False)
class TrajectoryStep:
    """One joined chunk. Section 1.9 of the contract.

    Keyword-only: every declared field of a trajectory, and for those with an extra row
    ``initial_<name>`` or ``final_<name>``; None where left out. B environments, C
    actions in a chunk, A numbers in each, D = C·A.

    Attributes
    ----------
    actions
        float [B, D] or [B, C, A]: what was executed, an expert's included.
    intervene_flags
        bool, as actions; all False where they are left out.
    prev_logprobs, prev_values, versions
        The policy's, as in `PolicyOutput`.
    dones, truncations, terminations
        bool [B, C], after the chunk.
    rewards
        float [B, C], composed.
    forward_inputs, curr_obs, next_obs
        Dicts, leaves [B, ...]; the last two empty unless collected.
    initial_dones, initial_truncations, initial_terminations
        bool [B, C]: before an epoch's first chunk; only there.
    final_prev_values
        [B, 1] or [B, C]: after an epoch's last chunk; only there.
    """

    actions: Tensor | None = None
    intervene_flags: Tensor | None = None
    prev_logprobs: Tensor | None = None
    prev_values: Tensor | None = None
    dones: Tensor | None = None
    truncations: Tensor | None = None
    terminations: Tensor | None = None
    rewards: Tensor | None = None
    forward_inputs: Tree = field(default_factory=dict)
    versions: Tensor | None = None
    curr_obs: Tree = field(default_factory=dict)
    next_obs: Tree = field(default_factory=dict)
    initial_dones: Tensor | None = None
    initial_truncations: Tensor | None = None
    initial_terminations: Tensor | None = None
    final_prev_values: Tensor | None = None

    def __init__(self, **given: Any) -> None:
        names, trees = _step_names()
        mine = self.__dict__
        mine.update(names)
        for name in trees:
            mine[name] = {}
        for name, value in given.items():
            if name not in names:
                raise TrajectoryTypeError(
                    f"making a TrajectoryStep: {name} is not declared; its fields are "
                    f"{', '.join(names)}"
                )
            if value is not None:
                mine[name] = value
        # What each side flagged, [B, D], whatever intervene_flags became of them.
        self.env_side: Tensor | None = None
        self.policy_side: Tensor | None = None
        # What an intervention took out of forward_inputs.
        self.taken_out: frozenset[str] = frozenset()
        if self.actions is not None and self.intervene_flags is None:
            self.intervene_flags = torch.zeros(self.actions.shape, dtype=torch.bool)

    @classmethod
    def from_parts(
        cls,
        policy: PolicyPart,
        env: EnvPart,
        rewards: Tensor | None,
        collect_prev_infos: bool = True,
        collect_transitions: bool = False,
        enable_rlt: bool = False,
        include_final_value: bool = True,
        policy_overwrites: bool = False,
    ) -> TrajectoryStep:
        """Make a step of the two halves of one chunk.

        Parameters
        ----------
        policy, env
            The halves.
        rewards
            What `EnvPart.compute_rewards` gave.
        collect_prev_infos
            Whether log-probabilities and values are kept.
        collect_transitions, enable_rlt
            Which observations are kept.
        include_final_value
            Whether this is an epoch's last chunk, which alone gives the final value.
        policy_overwrites
            Whether the policy's intervention flags replace the environment's, as in
            RLinf; otherwise both count, and both are kept.

        Raises
        ------
        TrajectoryValueError
            If there is no policy output, or something that is wanted is missing or
            doesn't fit.
        """
        output = policy.output
        if output is None:
            raise TrajectoryValueError(
                f"making a step of {policy.sources[0].key}: it has external actions "
                "and no policy output; training needs inference"
            )
        transition, initial = env.transition, env.initial_transition
        values: dict[str, Any] = {
            "rewards": rewards,
            "forward_inputs": dict(output.forward_inputs),
            "actions": output.forward_inputs.get("action"),
        }
        of = {
            Owner.POLICY_OUTPUT: output.__dict__,
            Owner.POLICY_PART: policy.__dict__,
            Owner.ENV_TRANSITION: transition.__dict__,
            Owner.ENV_PART: env.__dict__,
        }
        for item in _brought():
            if collect_prev_infos or not item.previous_info:
                values[item.name] = of[item.owner].get(item.name)
                if item.extra is None:
                    continue
                if item.rows is Rows.T_PLUS_LAST:
                    if include_final_value:
                        values[item.extra] = env.__dict__.get(item.extra)
                elif initial is not None:
                    values[item.extra] = initial.__dict__.get(item.name)
        values["curr_obs"], values["next_obs"] = observations.before_and_after(
            policy, env, transitions=collect_transitions, rlt=enable_rlt
        )
        step = cls(**values)
        if transition.intervene_actions is not None:
            interventions.apply(
                step, transition.intervene_actions, transition.intervene_flags
            )
        if output.intervene_flags is not None:
            interventions.mark(
                step, output.intervene_flags, overwrite=policy_overwrites
            )
        return step

    def apply_interventions(
        self, intervene_actions: Tensor, intervene_flags: Tensor | None
    ) -> None:
        """Put an expert's actions in, in place; `interventions.apply`."""
        interventions.apply(self, intervene_actions, intervene_flags)

    def set_intervention_flags(self, intervene_flags: Tensor) -> None:
        """Replace the flags, in place, by [B, C] or [B] ones; `interventions.mark`."""
        interventions.mark(self, intervene_flags, overwrite=True)

    def add_reward(self, env_id: int | Tensor, reward: Tensor) -> None:
        """Add to the rewards of one environment, or of several, in place.

        Parameters
        ----------
        env_id
            A row, or rows.
        reward
            [C], or [rows, C].

        Raises
        ------
        TrajectoryValueError
            If the step has no rewards.
        TrajectoryRuntimeError
            If they are whole numbers and the reward isn't.
        """
        if self.rewards is None:
            raise TrajectoryValueError(
                "adding a delayed reward: the step has no rewards; give them in the "
                "transition"
            )
        if reward.is_floating_point() and not self.rewards.is_floating_point():
            raise TrajectoryRuntimeError(
                f"adding a delayed reward: the step's rewards are {self.rewards.dtype},"
                f" which can't take {reward.dtype}; give floating-point rewards"
            )
        self.rewards[env_id] += reward

    def copy(self) -> TrajectoryStep:
        """One that shares the tensors but rewards, which may be added to."""
        step = object.__new__(TrajectoryStep)
        step.__dict__.update(self.__dict__)
        if step.rewards is not None:
            step.rewards = step.rewards.clone()
        return step


@cache
def _step_names() -> tuple[dict[str, None], tuple[str, ...]]:
    """Every field of a step, with None; and those that are dicts."""
    names: dict[str, None] = {}
    for item in trajectory_fields():
        names[item.name] = None
        if item.extra is not None:
            names[item.extra] = None
    return names, tuple(item.name for item in trajectory_fields() if item.tree)


@cache
def _brought() -> tuple[Field, ...]:
    """What a step takes from one of the halves as it is."""
    return tuple(f for f in trajectory_fields() if f.owner is not Owner.COLLECTOR)


on_change(_step_names.cache_clear)
on_change(_brought.cache_clear)
