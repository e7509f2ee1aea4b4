"""What can be claimed of two compared runs, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.replay.forms import Claim, Claims
from isoscope.core.summary import counted, listed

if TYPE_CHECKING:
    from isoscope.core.replay.compare import Compared
    from isoscope.core.replay.forms import ConfigurationDifference, Divergence

NOTHING = "no step of the two could be compared"


def claims(
    seen: Compared,
    changed: list[ConfigurationDifference],
    first: Divergence | None,
    unchecked: list[str],
) -> Claims:
    """Judge what was compared; whatever was not is no ground for a yes."""
    return Claims(
        same_configuration=_configuration(changed),
        within_tolerance=_within(seen, unchecked),
        bit_for_bit=_bits(seen, first, unchecked),
    )


def _configuration(changed: list[ConfigurationDifference]) -> Claim:
    if changed:
        keys = listed([_NAMES.get(one.key, one.key) for one in changed])
        return Claim(answer="no", reason=f"not the same: {keys}")
    return Claim(
        answer="not_checkable",
        reason=(
            "all that both recordings tell is the same; friction, inertia, materials "
            "and solver settings are in neither"
        ),
    )


_NAMES = {
    "h_s": "h",
    "substeps": "M",
    "fields": "recorded fields",
    "environments": "the number of environments",
}


def _within(seen: Compared, unchecked: list[str]) -> Claim:
    if not seen.seen.compared.any():
        return Claim(answer="not_checkable", reason=NOTHING)
    beyond = int(seen.seen.beyond.sum())
    allowed = f"{seen.tolerance:g} times (1 + the larger value)"
    if beyond:
        steps = counted(beyond, "native step")
        return Claim(answer="no", reason=f"{steps} differ by more than {allowed}")
    if parted := _parted(seen):
        return Claim(answer="no", reason=parted)
    steps = counted(int(seen.seen.compared.sum()), "compared native step")
    largest = max(seen.seen.fields, key=lambda one: one.largest)
    worst = (
        f"the largest difference is {largest.largest:.3g}"
        f"{f' {largest.field.unit}' if largest.field.unit else ''} in "
        f"{largest.field.full_name}"
        if largest.largest > 0
        else "no difference at all"
    )
    reason = f"{steps} within {allowed}; {worst}"
    return _if_all(reason, unchecked)


def _bits(seen: Compared, first: Divergence | None, unchecked: list[str]) -> Claim:
    if not seen.seen.compared.any():
        return Claim(answer="not_checkable", reason=NOTHING)
    if other := next((f for f in seen.shared.fields if f.a.dtype != f.b.dtype), None):
        return Claim(answer="no", reason=f"A is {other.a.dtype} and B {other.b.dtype}")
    differing = int(seen.seen.differs.sum())
    if differing:
        said = f"{counted(differing, 'native step')} differ"
        if seen.by_bits and first is not None:
            said += f", first where {first.why}"
        return Claim(answer="no", reason=said)
    if parted := _parted(seen):
        return Claim(answer="no", reason=parted)
    if signs := sum(one.other_bits for one in seen.seen.fields):
        what = counted(signs, "value") if signs == 1 else f"{signs:,} values"
        return Claim(
            answer="no",
            reason=f"{what} differ in the sign of a zero or of a quaternion only",
        )
    if seen.matching.pace.by != "place":
        return Claim(
            answer="not_checkable",
            reason=f"steps were brought together by {seen.matching.pace.by}",
        )
    steps = counted(int(seen.seen.compared.sum()), "compared native step")
    envs = counted(sum(n > 0 for n in seen.compared_steps()), "environment")
    reason = f"{steps} of {envs} are equal to the last bit"
    if nan := max((one.both_nan for one in seen.seen.fields), default=0):
        reason += f"; {counted(nan, 'step')} with NaN in both counted as equal"
    return _if_all(reason, unchecked)


def _parted(seen: Compared) -> str:
    parted = [p for p in seen.matching.pairs if p.parted is not None]
    if not parted:
        return ""
    first = parted[0]
    assert first.parted is not None
    return f"episode {first.parted.episode} of env {first.env} ended in one only"


def _if_all(reason: str, unchecked: list[str]) -> Claim:
    """A yes, unless something that belongs to it could not be compared."""
    if not unchecked:
        return Claim(answer="yes", reason=reason)
    return Claim(answer="not_checkable", reason=f"{reason}; but {unchecked[0]}")
