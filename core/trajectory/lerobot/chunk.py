"""A chunk as its environments told it, taken apart step by step.

Axis order: batch first in every array (``[B, C, ...]``), time first in the tuples of
observations and infos, whose leaves lead with B.

Which observation belongs to the action of a slot, C=3, o_0 what the policy saw::

    actions               a_0   a_1   a_2
    with a mask           o_0   o_1   o_2     obs_list as it is: before each action
    without one           o_1   o_2   o_3     obs_list as it is: after each action
    paired, without one   o_0   o_1   o_2     the policy's observation, then obs_list

After an automatic reset obs_list holds the observation of the new episode, so the next
action is paired with that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.trajectory.errors import (
    TrajectoryIndexError,
    TrajectoryKeyError,
    TrajectoryValueError,
)
from isoscope.core.trajectory.lerobot import shapes
from isoscope.core.trajectory.lerobot.frame import expert_rows, flag_rows
from isoscope.core.trajectory.lerobot.options import Pairing
from isoscope.core.trajectory.lerobot.step import LeRobotStep
from isoscope.core.trajectory.lerobot.values import env_slice, to_numpy, truth

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.core.trajectory.policy import PolicyOutput

FINAL = ("final_observation", "final_info")
EXPERT, FLAG = "intervene_action", "intervene_flag"


@dataclass(kw_only=True, slots=True, eq=False)
class LeRobotChunk:
    """One chunk of a source batch, in one form whatever form it came in.

    Attributes
    ----------
    actions
        ``[B, C, A]``, what was sent to the environments; None: no frames.
    observations
        One nested batch for each of the S steps.
    terminations, truncations
        bool ``[B, C]``, ``[B]`` (for every step) or a scalar.
    infos
        One nested batch, or None, for each of the S steps.
    intervention_actions, intervention_flags
        ``[B, C, A]`` and bool ``[B, C]`` of a policy that is itself the expert.
    valid_action_mask
        bool ``[B, S]``: which leading slots were executed. With a mask, observations
        are those before the actions.
    num_envs, action_dim
        B and A.
    first_observation
        What the policy saw before the first action; needed for pairs without a mask.
    """

    actions: NDArray[Any] | None
    observations: tuple[Any, ...]
    terminations: NDArray[Any]
    truncations: NDArray[Any]
    infos: tuple[Any, ...]
    intervention_actions: NDArray[Any] | None = None
    intervention_flags: NDArray[Any] | None = None
    valid_action_mask: NDArray[Any] | None = None
    num_envs: int
    action_dim: int
    first_observation: Any = None

    @classmethod
    def from_data(
        cls,
        *,
        num_envs: int,
        num_action_chunks: int,
        action_dim: int,
        policy_output: PolicyOutput | None,
        chunk_actions: Any,
        obs_list: Any,
        terminations: Any,
        truncations: Any,
        infos_list: Any,
        valid_action_mask: Any = None,
        obs: Any = None,
    ) -> LeRobotChunk:
        """Bring a chunk's episode data into one form.

        Parameters
        ----------
        num_envs, num_action_chunks, action_dim
            B, C and A.
        policy_output
            Of the same chunk; None where the policy was not asked.
        chunk_actions
            ``[B, C, A]``, ``[B, C*A]`` or ``[B, A]``, or None.
        obs_list, infos_list
            A list with one nested batch a step; a single observation is a chunk of one
            step, and a single info belongs to every step.
        terminations, truncations
            bool ``[B, C]``, ``[B]`` or a scalar; with a mask, of the mask's shape.
        valid_action_mask
            bool ``[B, C]`` or None; True, then False, in every row.
        obs
            What the policy saw before the chunk.

        Raises
        ------
        TrajectoryValueError
            If a length or shape doesn't fit, or the mask has a hole.
        TrajectoryAssertionError
            If the flags are not of the mask's shape.
        """
        sizes = (num_envs, num_action_chunks, action_dim)
        observations = shapes.steps(obs_list, 1)
        infos = shapes.steps(infos_list, len(observations))
        if len(infos) != len(observations):
            raise TrajectoryValueError(
                f"decoding a chunk: {len(infos)} infos for {len(observations)} "
                "observations; give one of each a step"
            )
        ends = to_numpy(terminations), to_numpy(truncations)
        mask = shapes.mask(valid_action_mask, ends, num_envs, len(observations))
        if mask is None:
            for flags in ends:
                shapes.check_ends(flags, num_envs, len(observations))
        expert, flagged = None, None
        if policy_output is not None:
            expert = (policy_output.forward_inputs or {}).get("action")
            flagged = policy_output.intervene_flags
        return cls(
            actions=shapes.actions(chunk_actions, "chunk_actions", *sizes),
            observations=observations,
            terminations=ends[0],
            truncations=ends[1],
            infos=infos,
            intervention_actions=shapes.actions(expert, "the policy's action", *sizes),
            intervention_flags=shapes.flags(flagged, num_envs, num_action_chunks),
            valid_action_mask=mask,
            num_envs=num_envs,
            action_dim=action_dim,
            first_observation=obs,
        )

    @property
    def step_count(self) -> int:
        """How many steps there are, S."""
        return len(self.observations)

    # -- one step -------------------------------------------------------------

    def step(
        self, slot: int, env: int, pairing: Pairing = Pairing.LEGACY
    ) -> LeRobotStep | None:
        """Take out one step of one environment; None for a slot that wasn't executed.

        Raises
        ------
        TrajectoryKeyError
            If a step that finished has a final observation and no final info.
        TrajectoryValueError
            For pairs without a mask, if nobody said what the policy saw first.
        """
        if self.valid_action_mask is not None and not self.valid_action_mask[env, slot]:
            return None
        terminated, truncated = self._ends(slot, env)
        self._check_final(slot, env, terminated or truncated)
        step = LeRobotStep(
            env_index=env,
            observation=None,
            info=None,
            action=self._action(slot, env),
            terminated=terminated,
            truncated=truncated,
        )
        if self.valid_action_mask is not None and step.done:
            step.completion_info = self._completion(env)
        if pairing is Pairing.LEGACY:
            self._fill_legacy(step, slot)
        else:
            self._fill_paired(step, slot)
        return step

    def end_without_step(self, env: int) -> LeRobotStep | None:
        """Give the end of an episode in a chunk that executed nothing of it.

        None unless the mask leaves out every slot of this environment and a flag says
        that its episode ended.
        """
        mask = self.valid_action_mask
        if mask is None or mask[env].any():
            return None
        ends = bool(self.terminations[env].any()), bool(self.truncations[env].any())
        if not any(ends):
            return None
        return LeRobotStep(
            env_index=env,
            observation=None,
            info=None,
            terminated=ends[0],
            truncated=ends[1],
            completion_info=self._completion(env),
        )

    # -- inside: the recorded convention --------------------------------------

    def _fill_legacy(self, step: LeRobotStep, slot: int) -> None:
        env = step.env_index
        info = self._with_policy_expert(slot)
        observation = self._env(self.observations[slot], env)
        has_final = (
            self.valid_action_mask is None
            and step.done
            and isinstance(info, dict)
            and FINAL[0] in info
        )
        if has_final:
            step.observation = self._env(info[FINAL[0]], env)
            step.info = self._env(info[FINAL[1]], env)
            step.reset_observation = observation
            step.reset_info = self._env(_without_final(info), env)
        else:
            step.observation = observation
            step.info = self._env(_without_final(info), env)

    def _with_policy_expert(self, slot: int) -> Any:
        """Add what the policy's expert did, where the environment names no expert.

        Beside final info the whole chunk is added to that, and the flag outside is
        cleared where the episode ended.
        """
        info = self.infos[slot]
        actions, flags = self.intervention_actions, self.intervention_flags
        if not isinstance(info, dict) or actions is None or flags is None:
            return info
        if EXPERT in info:
            return info
        slots = min(actions.shape[1], flags.shape[1])
        if slot >= slots:
            raise TrajectoryIndexError(
                f"decoding a chunk: the policy's action and intervene_flags have "
                f"{slots} slots, and there are {self.step_count} steps; give both as "
                "[B, C], C at least the steps"
            )
        added = {**info, EXPERT: actions[:, slot], FLAG: flags[:, slot]}
        if isinstance(info.get(FINAL[1]), dict):
            added[FINAL[1]] = {**info[FINAL[1]], EXPERT: actions, FLAG: flags}
            ended = [
                self._flag(self.terminations, slot, env)
                or self._flag(self.truncations, slot, env)
                for env in range(self.num_envs)
            ]
            added[FLAG] = flags[:, slot].astype(bool) & ~np.array(ended)
        return added

    # -- inside: pairs ----------------------------------------------------------

    def _fill_paired(self, step: LeRobotStep, slot: int) -> None:
        env = step.env_index
        info = self.infos[slot]
        own = self._env(_without_final(info), env)
        final = self._env(info.get(FINAL[1]), env) if isinstance(info, dict) else None
        if step.done and isinstance(final, dict) and self.valid_action_mask is None:
            step.info = dict(final)
        else:
            step.info = dict(own) if isinstance(own, dict) else {}
        step.observation = self._env(self._before(slot), env)
        expert = None
        told = (step.info, final) if step.done else (step.info,)
        for place in told:
            if expert is None and isinstance(place, dict):
                expert = self._row(place.get(EXPERT), place.get(FLAG), slot)
        if expert is None and self.intervention_actions is not None:
            if self.intervention_flags is not None:
                at = min(slot, self.intervention_actions.shape[1] - 1)
                expert = (
                    self.intervention_actions[env, at],
                    bool(self.intervention_flags[env, slot]),
                )
        step.info.pop(EXPERT, None)
        step.info.pop(FLAG, None)
        if expert is not None:
            step.info[EXPERT], step.info[FLAG] = expert

    def _before(self, slot: int) -> Any:
        """Give the batch of observations that the slot's actions answered."""
        if self.valid_action_mask is not None:
            return self.observations[slot]
        if slot:
            return self.observations[slot - 1]
        if self.first_observation is None:
            raise TrajectoryValueError(
                "pairing observations with actions: nobody says what the policy saw "
                "before the chunk; give obs, or choose pairing: legacy"
            )
        return self.first_observation

    def _row(self, action: Any, flag: Any, slot: int) -> tuple[Any, bool] | None:
        """Pick an expert's action of this slot: (action, whether it was executed).

        An environment may tell one action, those of the whole chunk, or those up to
        this slot.
        """
        if action is None or flag is None:
            return None
        rows = expert_rows(action, self.action_dim)
        if len(rows) == 1:
            return rows[0], truth(flag)
        if len(rows) not in (self.step_count, slot + 1):
            raise TrajectoryValueError(
                f"decoding a chunk: {EXPERT} has {len(rows)} actions in slot {slot} of "
                f"{self.step_count}; give one, one a slot, or those up to this slot"
            )
        return rows[slot], truth(flag_rows(flag, len(rows))[slot])

    # -- inside: both -----------------------------------------------------------

    def _env(self, batch: Any, env: int) -> Any:
        return env_slice(batch, env, self.num_envs)

    def _action(self, slot: int, env: int) -> NDArray[np.float32] | None:
        if self.actions is None:
            return None
        row: NDArray[Any] = self.actions[env, min(slot, self.actions.shape[1] - 1)]
        return row

    def _ends(self, slot: int, env: int) -> tuple[bool, bool]:
        """Read whether a step (terminated, truncated)."""
        mask = self.valid_action_mask
        if mask is not None:
            last = slot == int(mask[env].sum()) - 1
            return (
                last and bool(self.terminations[env].any()),
                last and bool(self.truncations[env].any()),
            )
        return (
            self._flag(self.terminations, slot, env),
            self._flag(self.truncations, slot, env),
        )

    def _flag(self, flags: NDArray[Any], slot: int, env: int) -> bool:
        column = flags[:, slot] if flags.ndim > 1 else flags
        return bool(column[env]) if column.size > 1 else bool(column.reshape(-1)[0])

    def _completion(self, env: int) -> Any:
        info = self.infos[-1]
        if isinstance(info, dict) and isinstance(info.get(FINAL[1]), dict):
            return self._env(info[FINAL[1]], env)
        return self._env(info, env)

    def _check_final(self, slot: int, env: int, done: bool) -> None:
        info = self.infos[slot]
        if self.valid_action_mask is not None or not done:
            return
        if isinstance(info, dict) and FINAL[0] in info and FINAL[1] not in info:
            raise TrajectoryKeyError(
                f"decoding a chunk: environment {env} finished in slot {slot} with "
                "final_observation and without final_info; give both, since the info "
                "beside them is the new episode's"
            )


def _without_final(info: Any) -> Any:
    if not isinstance(info, dict):
        return info
    return {key: value for key, value in info.items() if key not in FINAL}
