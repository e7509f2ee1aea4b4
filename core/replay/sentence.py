"""The sentence on top of a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.summary import counted

if TYPE_CHECKING:
    from isoscope.core.replay.forms import Comparison, Divergence


def verdict(comparison: Comparison) -> str:
    """Whether two runs are the same, and if not where they part, in one sentence."""
    pairs = [p for p in comparison.pairs if p.compared_steps]
    envs = counted(len(pairs), "environment")
    steps = counted(comparison.compared_steps, "native step")
    first = comparison.first_divergence
    if first is not None:
        apart = sum(p.first_divergence is not None for p in comparison.pairs)
        more = f" {apart} of {envs} depart." if len(pairs) > 1 else ""
        return f"{where(first)}: {first.why}.{more}"
    if not comparison.compared_steps or not comparison.max_difference:
        why = comparison.not_checkable[0] if comparison.not_checkable else "no step"
        return f"Nothing could be compared: {why}."
    unchecked = comparison.not_checkable
    rest = f" Not all could be compared: {unchecked[0]}." if unchecked else ""
    if comparison.judged_by == "bits":
        return f"{envs} equal to the last bit in {steps}.{rest}"
    return f"{envs} equal within {comparison.tolerance:g} in {steps}.{rest}"


def where(first: Divergence) -> str:
    """``"env 0 departs at episode 2, control step 4 (native step 68)"``."""
    place = f"episode {first.episode}" if first.episode is not None else "some episode"
    if first.control_step == 0:
        place = f"the reset of {place}"
    elif first.control_step is not None:
        place += f", control step {first.control_step}"
    native = f" (native step {first.native})" if first.native is not None else ""
    return f"env {first.env} departs at {place}{native}"
