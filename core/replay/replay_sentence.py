"""The sentence on top of a re-simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.replay.sentence import where
from isoscope.core.replay.stand_in.forms import StandIn
from isoscope.core.summary import counted

if TYPE_CHECKING:
    from isoscope.core.replay.replay_forms import Replay

MODES = {
    "actions": "stepped again",
    "pinned": "stepped again from each snapshot",
    "alone": "stepped alone",
}


def verdict(found: Replay | StandIn) -> str:
    """The sentence on top of what was stepped again, or predicted by a model."""
    return (
        stand_in_verdict(found) if isinstance(found, StandIn) else replay_verdict(found)
    )


def stand_in_verdict(found: StandIn) -> str:
    """How many steps a model predicts, and where it is first off."""
    steps = counted(found.predicted, "native step")
    if (first := found.first_divergence) is not None:
        return f"{steps} predicted by the model, {where(first)}: {first.why}."
    return f"{steps} predicted by the model, all within tolerance."


def replay_verdict(found: Replay) -> str:
    """Whether the run comes out the same again, and if not where it departs."""
    early = f" It ended early: {found.stopped}." if found.stopped else ""
    twice = ""
    if found.twice:
        same = sum(one.equal for one in found.twice)
        envs = counted(len(found.twice), "environment")
        twice = f" Restored twice, the same followed in {same} of {envs}."
    return _compared(found) + twice + (early if found.compared_steps else "")


def _compared(found: Replay) -> str:
    again = MODES[found.mode]
    if (first := found.first_divergence) is not None:
        apart = sum(p.first_divergence is not None for p in found.pairs)
        envs = counted(len(found.pairs), "environment")
        more = f" {apart} of {envs} depart." if len(found.pairs) > 1 else ""
        return f"{again.capitalize()}, {where(first)}: {first.why}.{more}"
    if not found.compared_steps:
        why = found.not_checkable[0] if found.not_checkable else "no step"
        return f"Nothing could be {again}: {why}."
    envs = counted(len(found.pairs), "environment")
    steps = counted(found.compared_steps, "native step")
    bits = found.claims.bit_for_bit
    if found.judged_by == "bits" and bits.answer == "no":
        return f"{envs} {again}: {bits.reason}."
    equal = "equal to the last bit" if found.judged_by == "bits" else "within tolerance"
    return f"{envs} {again}, {equal} in {steps}."
