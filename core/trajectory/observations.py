"""What was seen before and after a chunk, for losses that need both.

Section 2.6 of the trajectory contract.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.trajectory import interventions
from isoscope.core.trajectory.errors import TrajectoryValueError
from isoscope.core.trajectory.values import IGNORED

if TYPE_CHECKING:
    from isoscope.core.trajectory.env import EnvPart
    from isoscope.core.trajectory.policy import PolicyPart
    from isoscope.core.trajectory.record import Tree

FEATURES = ("z_rl", "proprio", "ref_chunk")


def before_and_after(
    policy: PolicyPart, env: EnvPart, *, transitions: bool, rlt: bool
) -> tuple[Tree, Tree]:
    """The observations before and after a chunk; both empty unless collected.

    Parameters
    ----------
    policy, env
        The halves of one chunk.
    transitions
        Whether whole observations are wanted (`rollout.collect_transitions`).
    rlt
        Whether RLT features are wanted instead; an expert's flagged actions then
        replace those of the reference chunk.

    Raises
    ------
    TrajectoryValueError
        If what is wanted is not there.
    """
    if rlt:
        if env.next_rlt_obs is None:
            raise TrajectoryValueError(
                f"collecting RLT features of {_key(policy)}: next_rlt_obs is missing; "
                "complete the environment part with them"
            )
        return _without_texts(_features(policy, env)), _without_texts(env.next_rlt_obs)
    if transitions:
        if env.next_obs is None:
            raise TrajectoryValueError(
                f"collecting transitions of {_key(policy)}: next_obs is missing; "
                "complete the environment part with the observation after the chunk"
            )
        return _without_texts(policy.obs), _without_texts(env.next_obs)
    return {}, {}


def _key(policy: PolicyPart) -> object:
    return policy.sources[0].key if policy.sources else "a chunk"


def _features(policy: PolicyPart, env: EnvPart) -> Tree:
    inputs = policy.output.forward_inputs if policy.output else {}
    missing = [name for name in FEATURES if inputs.get(name) is None]
    if missing:
        raise TrajectoryValueError(
            f"collecting RLT features of {policy.sources[0].key}: forward_inputs lack "
            f"{', '.join(missing)}; give all of {', '.join(FEATURES)}"
        )
    features = {name: inputs[name] for name in FEATURES}
    expert, flags = env.transition.intervene_actions, env.transition.intervene_flags
    if expert is not None and flags is not None:
        features["ref_chunk"] = interventions.reference_chunk(
            features["ref_chunk"], expert, flags
        )
    return features


def _without_texts(obs: Tree) -> Tree:
    kept = dict(obs)
    kept.pop(IGNORED, None)
    return kept
