"""What a re-simulation proves, each claim by itself, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.replay.forms import Claim, Claims
from isoscope.core.summary import counted, listed

if TYPE_CHECKING:
    from isoscope.core.replay.driver import Driven
    from isoscope.core.replay.stepwise import EnvSeen

NOTHING = "no step could be taken again"


def replay_claims(
    envs: list[EnvSeen],
    drives: list[Driven],
    allowed: str,
    unchecked: list[str],
    doubts: list[str],
) -> Claims:
    """Judge what was compared; whatever was not is no ground for a yes.

    Parameters
    ----------
    allowed
        The tolerance in words.
    unchecked
        What could not be compared, and why.
    doubts
        Why the scene may be another one in what the recording doesn't hold.
    """
    if not sum(env.compared for env in envs):
        reason = unchecked[0] if unchecked else NOTHING
        none = Claim(answer="not_checkable", reason=reason)
        return Claims(same_configuration=none, within_tolerance=none, bit_for_bit=none)
    return Claims(
        same_configuration=_configuration(drives, doubts),
        within_tolerance=_within(envs, allowed, unchecked),
        bit_for_bit=_bits(envs, unchecked),
    )


def _configuration(drives: list[Driven], doubts: list[str]) -> Claim:
    other = sum(d.configured_other for d in drives)
    equal = sum(d.configured_equal for d in drives)
    keys = sorted({key for d in drives for key in d.configuration})
    if other:
        what = listed(keys) if keys else "the digest of the whole"
        steps = counted(other, "compared step")
        return Claim(answer="no", reason=f"not the same in {steps}: {what}")
    if doubts:
        return Claim(answer="not_checkable", reason="; ".join(doubts))
    return Claim(
        answer="yes",
        reason=(
            "engine, build, precision, topology and the digest of the whole persistent "
            f"configuration are as recorded in {counted(equal, 'compared step')}"
        ),
    )


def _within(envs: list[EnvSeen], allowed: str, unchecked: list[str]) -> Claim:
    beyond = sum(env.beyond for env in envs)
    if beyond:
        steps = counted(beyond, "native step")
        return Claim(answer="no", reason=f"{steps} differ by more than {allowed}")
    steps = counted(sum(env.compared for env in envs), "compared native step")
    worst = max((f for e in envs for f in e.fields), key=lambda f: f.largest)
    said = "no difference at all"
    if worst.largest > 0:
        unit = f" {worst.field.unit}" if worst.field.unit else ""
        said = (
            f"the largest difference is {worst.largest:.3g}{unit} in "
            f"{worst.field.full_name}"
        )
    return _if_all(f"{steps} within {allowed}; {said}", unchecked)


def _bits(envs: list[EnvSeen], unchecked: list[str]) -> Claim:
    differing = sum(env.differing for env in envs)
    if differing:
        return Claim(answer="no", reason=f"{counted(differing, 'native step')} differ")
    if signs := sum(f.other_bits for e in envs for f in e.fields):
        return Claim(
            answer="no",
            reason=f"{counted(signs, 'value')} differ in a sign of zero or quaternion",
        )
    if other := sum(env.states_other for env in envs):
        return Claim(
            answer="no",
            reason=(
                "all fields are equal, and the whole state is another one at "
                f"{counted(other, 'place')} where it was compared: in what no field "
                "shows"
            ),
        )
    steps = counted(sum(env.compared for env in envs), "compared native step")
    reason = f"{steps} of {counted(len(envs), 'environment')} are equal to the last bit"
    if states := sum(env.states_equal for env in envs):
        reason += f", and so is the whole state at {counted(states, 'place')}"
    nan = max((f.both_nan for e in envs for f in e.fields), default=0)
    if nan:
        reason += f"; NaN in both in {counted(nan, 'step')} counted as equal"
    return _if_all(reason, unchecked)


def _if_all(reason: str, unchecked: list[str]) -> Claim:
    if not unchecked:
        return Claim(answer="yes", reason=reason)
    return Claim(answer="not_checkable", reason=f"{reason}; but {unchecked[0]}")
