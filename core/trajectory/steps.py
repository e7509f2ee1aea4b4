"""One joined chunk, ready for training."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from isoscope.core.trajectory import interventions, observations
from isoscope.core.trajectory.errors import (
    TrajectoryRuntimeError,
    TrajectoryTypeError,
    TrajectoryValueError,
)
from isoscope.core.trajectory.fields import (
    Owner,
    Rows,
    on_change,
    trajectory_fields,
)

if TYPE_CHECKING:
    from isoscope.core.trajectory.env import EnvPart
    from isoscope.core.trajectory.policy import PolicyPart
    from isoscope.core.trajectory.record import Record, Tensor, Tree

FLAGS = "intervene_flags"


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
        bool, as actions; all False where they are left out, and made when first read.
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
    intervene_flags: Tensor | None = field(default_factory=lambda: None)
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
        names = _step_names()
        mine = self.__dict__
        mine.update(names.empty)
        for name in names.trees:
            mine[name] = {}
        # What each side flagged, [B, D], whatever intervene_flags became of them.
        self.env_side: Tensor | None = None
        self.policy_side: Tensor | None = None
        # What an intervention took out of forward_inputs.
        self.taken_out: frozenset[str] = frozenset()
        for name, value in given.items():
            if name not in names.all:
                raise TrajectoryTypeError(
                    f"making a TrajectoryStep: {name} is not declared; its fields are "
                    f"{', '.join(names.all)}"
                )
            if value is not None:
                mine[name] = value

    def __getattr__(self, name: str) -> Any:
        # Reached only for what is not there yet: flags that nobody set. Most chunks
        # have none, and stacking makes those of a whole trajectory at once.
        if name == FLAGS:
            actions = self.actions
            self.intervene_flags = (
                None
                if actions is None
                else torch.zeros(actions.shape, dtype=torch.bool)
            )
            return self.intervene_flags
        raise AttributeError(f"a TrajectoryStep has no {name}; declare it as a field")

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
        transition = env.transition
        step = cls()
        step.rewards = rewards
        step.forward_inputs = dict(output.forward_inputs)
        step.actions = output.forward_inputs.get("action")
        step._bring(policy, env, collect_prev_infos, include_final_value)
        step.curr_obs, step.next_obs = observations.before_and_after(
            policy, env, transitions=collect_transitions, rlt=enable_rlt
        )
        if transition.intervene_actions is not None:
            interventions.apply(
                step, transition.intervene_actions, transition.intervene_flags
            )
        if output.intervene_flags is not None:
            interventions.mark(
                step, output.intervene_flags, overwrite=policy_overwrites
            )
        return step

    def _bring(
        self, policy: PolicyPart, env: EnvPart, previous: bool, last: bool
    ) -> None:
        """Take over what the halves' records have for a trajectory, as it is."""
        mine, brought = self.__dict__, _brought(previous)
        _take(mine, brought.of_output, policy.output)
        _take(mine, brought.of_policy, policy)
        _take(mine, brought.of_transition, env.transition)
        _take(mine, brought.of_env, env)
        _take(mine, brought.first, env.initial_transition)
        if last:
            _take(mine, brought.final, env)

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


class _Names(NamedTuple):
    """The names of a step's fields.

    Attributes
    ----------
    all
        Every one.
    empty
        What a step without any values holds.
    trees
        Those that are dicts.
    """

    all: tuple[str, ...]
    empty: dict[str, None]
    trees: tuple[str, ...]


@cache
def _step_names() -> _Names:
    names: list[str] = []
    for item in trajectory_fields():
        names += [item.name] if item.extra is None else [item.name, item.extra]
    return _Names(
        tuple(names),
        {name: None for name in names if name != FLAGS},
        tuple(item.name for item in trajectory_fields() if item.tree),
    )


Pairs = tuple[tuple[str, str], ...]


class _Brought(NamedTuple):
    """What a step takes as it is: pairs of a record's name and the step's, by record.

    Attributes
    ----------
    of_output, of_policy, of_transition, of_env
        What every chunk brings.
    first
        An epoch's first rows, of its initial transition.
    final
        An epoch's last rows, of its last environment part.
    """

    of_output: Pairs
    of_policy: Pairs
    of_transition: Pairs
    of_env: Pairs
    first: Pairs
    final: Pairs


@cache
def _brought(previous: bool) -> _Brought:
    """What is taken with previous infos, or without them."""
    kept = [f for f in trajectory_fields() if previous or not f.previous_info]
    # what the collector owns has no record to be taken from
    kept = [f for f in kept if f.owner is not Owner.COLLECTOR]

    def of(owner: Owner) -> Pairs:
        return tuple((f.name, f.name) for f in kept if f.owner is owner)

    first, final = (
        [(f.name, f.extra) for f in kept if f.rows is rows and f.extra is not None]
        for rows in (Rows.T_PLUS_FIRST, Rows.T_PLUS_LAST)
    )
    return _Brought(
        of(Owner.POLICY_OUTPUT),
        of(Owner.POLICY_PART),
        of(Owner.ENV_TRANSITION),
        of(Owner.ENV_PART),
        tuple(first),
        tuple((extra, extra) for _, extra in final),
    )


def _take(into: dict[str, Any], pairs: Pairs, record: Record | None) -> None:
    """Take a record's values over; what isn't there is left as it was."""
    if record is None:
        return
    given = record.__dict__
    for name, mine in pairs:
        value = given.get(name)
        if value is not None:
            into[mine] = value


on_change(_step_names.cache_clear)
on_change(_brought.cache_clear)
