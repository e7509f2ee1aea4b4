"""The environment's half of a chunk: what it did with the actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from isoscope.core.trajectory import rewards as reward_rules
from isoscope.core.trajectory.errors import TrajectoryValueError
from isoscope.core.trajectory.fields import Owner
from isoscope.core.trajectory.keys import TrajectorySource
from isoscope.core.trajectory.policy import PolicyPart, described, fused_source
from isoscope.core.trajectory.record import Record, Tensor, Tree
from isoscope.core.trajectory.values import on_cpu

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.trajectory.steps import TrajectoryStep

NOT_THE_ENVIRONMENTS = ("reward_model_output", "reward_assign_lengths", "episode_data")


@dataclass(init=False, eq=False, repr=False)
class EnvTransition(Record):
    """What an environment produced for one executed chunk. Section 1.3 of the contract.

    Keyword-only. B environments, C actions in a chunk, A numbers in each, D = C·A. The
    state at a reset is one too: flags all False, rewards None.

    Attributes
    ----------
    rewards
        float [B, C]; None at a reset.
    dones, terminations, truncations
        bool [B, C]; dones are terminations or truncations.
    intervene_actions, intervene_flags
        An expert's actions, float [B, D] or [B, C, A], and where it acted, bool [B, C]
        or [B].
    rlt_switch_flags
        bool or int [B, C].
    reward_model_output
        float [B, C], a reward model's.
    reward_assign_lengths
        B numbers: over how many chunks back the model's reward is spread.
    episode_data
        Frames for online LeRobot, section 1.4 of the contract.
    """

    owner: ClassVar[Owner] = Owner.ENV_TRANSITION

    rewards: Tensor | None = None
    dones: Tensor | None = None
    terminations: Tensor | None = None
    truncations: Tensor | None = None
    intervene_actions: Tensor | None = None
    intervene_flags: Tensor | None = None
    rlt_switch_flags: Tensor | None = None
    reward_model_output: Tensor | None = None
    reward_assign_lengths: list[int] | None = None
    episode_data: Tree | None = None

    def with_trajectory_data(
        self,
        reward_model_output: Tensor | None = None,
        reward_assign_lengths: list[int] | None = None,
        episode_data: Tree | None = None,
    ) -> EnvTransition:
        """A copy in which these three are replaced; what is left out becomes None."""
        return self.replaced(
            reward_model_output=on_cpu(reward_model_output),
            reward_assign_lengths=reward_assign_lengths,
            episode_data=on_cpu(episode_data),
        )

    def to_dict(self) -> dict[str, Any]:
        """The values that the environment itself gave, by name."""
        return {
            name: value
            for name, value in self.__dict__.items()
            if name not in NOT_THE_ENVIRONMENTS
        }

    def split(self, split_sizes: Sequence[int]) -> list[EnvTransition]:
        """Cut it along the batch."""
        return [EnvTransition(**shard) for shard in self._split_fields(split_sizes)]

    @classmethod
    def merge(cls, transitions: Sequence[EnvTransition]) -> EnvTransition:
        """Put shards together.

        Raises
        ------
        TrajectoryValueError
            If there are none, or a value is in some of them only.
        """
        if not transitions:
            raise TrajectoryValueError("merging EnvTransitions: there are none")
        if len({t.episode_data is None for t in transitions}) > 1:
            raise TrajectoryValueError(
                "merging EnvTransitions: only some have episode_data; give it in all "
                "of them or in none"
            )
        return cls(**cls._merge_fields(transitions))

    def compute_rewards(
        self,
        bootstrap_values: Tensor | None,
        env_reward_weight: float,
        reward_weight: float,
        auto_reset: bool,
        bootstrap_type: str,
        gamma: float,
    ) -> Tensor | None:
        """The chunk's rewards [B, C] as training sees them; `rewards.compute`."""
        return reward_rules.compute(
            self,
            bootstrap_values,
            env_reward_weight=env_reward_weight,
            reward_weight=reward_weight,
            auto_reset=auto_reset,
            bootstrap_type=bootstrap_type,
            gamma=gamma,
        )

    def assign_history_rewards(
        self, steps: Sequence[TrajectoryStep], reward_weight: float
    ) -> None:
        """Spread the model's reward over earlier steps, in place; `rewards.spread`."""
        reward_rules.spread(self, steps, reward_weight)


@dataclass(init=False, eq=False, repr=False)
class EnvPart(Record):
    """The environment's half of some chunks' rows, on its way to the collector.

    Section 1.8 of the contract. Keyword-only.

    Attributes
    ----------
    sources
        Whose rows these are, in order.
    transition
        What happened in the chunk.
    next_obs
        The observation after it, leaves [B, ...].
    requires_inference
        Whether the policy still has to say what the state after the chunk is worth.
    next_rlt_obs
        RLT features after it: z_rl, proprio and ref_chunk.
    bootstrap_values
        float [B, 1].
    final_prev_values
        float [B, 1] or [B, C].
    initial_transition
        The state before the epoch's first chunk; on chunk 0 only.
    """

    owner: ClassVar[Owner] = Owner.ENV_PART

    sources: list[TrajectorySource]
    transition: EnvTransition
    next_obs: Tree | None = None
    requires_inference: bool = False
    next_rlt_obs: Tree | None = None
    bootstrap_values: Tensor | None = None
    final_prev_values: Tensor | None = None
    initial_transition: EnvTransition | None = None

    def complete(
        self,
        next_obs: Tree | None,
        next_rlt_obs: Tree | None,
        final_prev_values: Tensor | None = None,
        **finals: Tensor | None,
    ) -> EnvPart:
        """A copy that needs no inference any more; it shares the transition.

        Parameters
        ----------
        next_obs, next_rlt_obs
            What to keep of the state after the chunk.
        final_prev_values
            float [B, 1] or [B, C]: its value. The first column is the bootstrap.
        **finals
            The final rows of declared fields that have one.

        Raises
        ------
        TrajectoryValueError
            If the values are of another rank.
        """
        values = on_cpu(final_prev_values)
        if values is not None and values.ndim != 2:
            raise TrajectoryValueError(
                f"completing an EnvPart of {described(self.sources)}: "
                f"final_prev_values are {list(values.shape)}; give [B, 1] or [B, C]"
            )
        return EnvPart(
            **{
                **self.__dict__,
                **finals,
                "next_obs": next_obs,
                "next_rlt_obs": next_rlt_obs,
                "requires_inference": False,
                "final_prev_values": values,
                "bootstrap_values": None if values is None else values[:, :1],
            }
        )

    def compute_rewards(
        self,
        env_reward_weight: float,
        reward_weight: float,
        auto_reset: bool,
        bootstrap_type: str,
        gamma: float,
    ) -> Tensor | None:
        """The transition's rewards, with this part's own bootstrap values."""
        return self.transition.compute_rewards(
            self.bootstrap_values,
            env_reward_weight,
            reward_weight,
            auto_reset,
            bootstrap_type,
            gamma,
        )

    def split(self, split_sizes: Sequence[int] | None = None) -> list[EnvPart]:
        """Cut it along the batch, by default into one part per entry of `sources`.

        Raises
        ------
        TrajectoryValueError
            If the sizes don't add up to the rows of the sources.
        """
        if not split_sizes:
            if len(self.sources) == 1:
                return [self]
            split_sizes = [source.size for source in self.sources]
        sources = TrajectorySource.split(self.sources, split_sizes)
        shards = self._split_fields(split_sizes)
        transitions = self.transition.split(split_sizes)
        initial: Sequence[EnvTransition | None] = (
            [None] * len(split_sizes)
            if self.initial_transition is None
            else self.initial_transition.split(split_sizes)
        )
        return [
            EnvPart(
                sources=sources[at],
                transition=transitions[at],
                requires_inference=self.requires_inference,
                initial_transition=initial[at],
                **shard,
            )
            for at, shard in enumerate(shards)
        ]

    @classmethod
    def merge(cls, fragments: Sequence[EnvPart]) -> EnvPart:
        """Put fragments of one source together.

        Raises
        ------
        TrajectoryValueError
            If there are none, their rows are not of one source without a hole, or they
            differ in what they require or have.
        """
        sources = fused_source(fragments, "EnvParts")
        if len({fragment.requires_inference for fragment in fragments}) > 1:
            raise TrajectoryValueError(
                f"merging EnvParts of {described(sources)}: only some still require "
                "inference; complete all of them first, or none"
            )
        initial = [f.initial_transition for f in fragments if f.initial_transition]
        if len(initial) not in (0, len(fragments)):
            raise TrajectoryValueError(
                f"merging EnvParts of {described(sources)}: only some have an "
                "initial_transition; chunk 0 has it in every fragment, others in none"
            )
        return cls(
            sources=sources,
            transition=EnvTransition.merge([f.transition for f in fragments]),
            requires_inference=fragments[0].requires_inference,
            initial_transition=EnvTransition.merge(initial) if initial else None,
            **cls._merge_fields(fragments),
        )


TrajectoryPart = PolicyPart | EnvPart
