"""The fields that every run knows, as sections 1.3 to 1.10 of the contract give them.

B environments, C actions in a chunk, A numbers in an action, D = C·A. Those with rows
are in the order of a trajectory's fields.
"""

from __future__ import annotations

from isoscope.core.trajectory.fields import Field, Merge, Owner, Rows

_INPUT, _PART, _OUTPUT, _ENV, _ENV_PART, _STEP = (
    Owner.POLICY_INPUT,
    Owner.POLICY_PART,
    Owner.POLICY_OUTPUT,
    Owner.ENV_TRANSITION,
    Owner.ENV_PART,
    Owner.COLLECTOR,
)

# What is stacked into trajectories.
_STACKED = (
    Field(
        "actions",
        _STEP,
        shape="[B, D] or [B, C, A]",
        dtype="float",
        doc="the actions that were executed, experts' included",
    ),
    Field(
        "intervene_flags",
        _STEP,
        shape="as actions",
        dtype="bool",
        doc="which numbers of an action are an expert's or marked by the policy",
    ),
    Field(
        "rewards",
        _STEP,
        shape="[B, C]",
        dtype="float",
        doc="environment's and model's rewards, weighted, with the bootstrap",
    ),
    Field(
        "terminations",
        _ENV,
        Rows.T_PLUS_FIRST,
        shape="[B, C]",
        dtype="bool",
        doc="the episode came to its natural end",
    ),
    Field(
        "truncations",
        _ENV,
        Rows.T_PLUS_FIRST,
        shape="[B, C]",
        dtype="bool",
        doc="the episode was cut, by a time limit say",
    ),
    Field(
        "dones",
        _ENV,
        Rows.T_PLUS_FIRST,
        shape="[B, C]",
        dtype="bool",
        doc="terminated or truncated",
    ),
    Field(
        "prev_logprobs",
        _OUTPUT,
        previous_info=True,
        shape="[B, D] or [B, C, A]",
        dtype="float",
        doc="log-probabilities of the policy's own actions",
    ),
    Field(
        "prev_values",
        _OUTPUT,
        Rows.T_PLUS_LAST,
        previous_info=True,
        shape="[B, 1] or [B, C]",
        dtype="float",
        doc="the critic's values, by chunk or by action",
    ),
    Field(
        "versions",
        _OUTPUT,
        replayed=False,
        shape="as prev_logprobs",
        dtype="float",
        doc="version of the weights that acted",
    ),
    Field(
        "forward_inputs",
        _STEP,
        tree=True,
        shape="[B, ...]",
        doc="what the policy computed from, its action among it",
    ),
    Field(
        "curr_obs",
        _STEP,
        tree=True,
        shape="[B, ...]",
        doc="observations before the chunk, or RLT features",
    ),
    Field(
        "next_obs",
        _STEP,
        tree=True,
        shape="[B, ...]",
        doc="observations after the chunk, or RLT features",
    ),
    Field(
        "env_intervene_flags",
        _STEP,
        false_where_absent=True,
        shape="[B, D]",
        dtype="bool",
        doc="the environment's flags, kept where the policy gave some too",
    ),
    Field(
        "policy_intervene_flags",
        _STEP,
        false_where_absent=True,
        shape="[B, D]",
        dtype="bool",
        doc="the policy's flags, kept where the environment gave some too",
    ),
)

# What only travels: it is used up when the halves are joined.
_CARRIED = (
    Field("obs", _INPUT, Rows.NONE, tree=True, required=True, shape="[B, ...]"),
    Field(
        "rlt_switch_flags",
        _INPUT,
        Rows.NONE,
        merge=Merge.ZERO_WHERE_ABSENT,
        shape="[B] or [B, C]",
    ),
    Field(
        "intervene_flags",
        _INPUT,
        Rows.NONE,
        merge=Merge.ZERO_WHERE_ABSENT,
        shape="[B, C]",
        dtype="bool",
    ),
    Field("external_actions", _INPUT, Rows.NONE, shape="[B, C, A] or [B, D]"),
    Field("obs", _PART, Rows.NONE, tree=True, required=True, shape="[B, ...]"),
    Field("external_actions", _PART, Rows.NONE, shape="[B, C, A] or [B, D]"),
    Field(
        "forward_inputs",
        _OUTPUT,
        Rows.NONE,
        tree=True,
        required=True,
        shape="[B, ...]",
        doc="what the policy computed from; key action is the executed action",
    ),
    Field(
        "intervene_flags",
        _OUTPUT,
        Rows.NONE,
        shape="[B, C] or [B]",
        dtype="bool",
        doc="the policy side's mask of expert or saved actions",
    ),
    Field(
        "rewards",
        _ENV,
        Rows.NONE,
        shape="[B, C]",
        dtype="float",
        doc="the environment's own",
    ),
    Field(
        "intervene_actions",
        _ENV,
        Rows.NONE,
        shape="[B, D] or [B, C, A]",
        dtype="float",
        doc="an expert's actions",
    ),
    Field(
        "intervene_flags",
        _ENV,
        Rows.NONE,
        shape="[B, C] or [B]",
        dtype="bool",
        doc="where the expert acted",
    ),
    Field("rlt_switch_flags", _ENV, Rows.NONE, shape="[B, C]"),
    Field(
        "reward_model_output",
        _ENV,
        Rows.NONE,
        shape="[B, C]",
        dtype="float",
        doc="a reward model's rewards",
    ),
    Field(
        "reward_assign_lengths",
        _ENV,
        Rows.NONE,
        shape="list of B",
        dtype="int",
        doc="over how many chunks back a delayed reward is spread",
    ),
    Field(
        "episode_data",
        _ENV,
        Rows.NONE,
        merge=Merge.EPISODE,
        doc="frames for online LeRobot",
    ),
    Field("next_obs", _ENV_PART, Rows.NONE, shape="[B, ...]"),
    Field("next_rlt_obs", _ENV_PART, Rows.NONE, shape="[B, ...]"),
    Field(
        "bootstrap_values",
        _ENV_PART,
        Rows.NONE,
        shape="[B, 1]",
        dtype="float",
        doc="value of the state that a cut episode would have gone on from",
    ),
)

FIELDS = (*_STACKED, *_CARRIED)
