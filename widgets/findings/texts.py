"""The words of the Findings panel; no Qt."""

from __future__ import annotations

import math
from pathlib import PurePath
from typing import TYPE_CHECKING

from isoscope.core.isolation.sentence import change_text, value_text
from isoscope.core.summary import counted, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoscope.core.isolation.findings import Audit, Finding
    from isoscope.core.isolation.stretches import Stretch

NOTHING_KNOWN = "—"
MOST_ENVS = 4
# Evidence that is told in other words elsewhere, or says nothing to people.
UNTOLD = frozenset({"suspect", "starts", "linked", "reference_env"})


def envs_text(finding: Finding) -> str:
    """Who it is about: ``"env 0 ← env 1"`` took a state, ``"env 1 → env 0"`` reached.

    ``"scene"`` where it is about no environment.
    """
    env, other = finding.env, finding.other_env
    if env is None:
        return "scene"
    reached = [a.env for a in finding.affected if a.env != env]
    if reached:
        more = f" +{len(reached) - 1}" if len(reached) > 1 else ""
        return f"env {env} → env {reached[0]}{more}"
    if finding.id == "missed-restore":
        return f"env {env} ← " + ("?" if other is None else f"env {other}")
    if other is not None and finding.id == "identical-start":
        return f"envs {env}, {other}"
    return f"env {env}"


def envs_of(finding: Finding) -> tuple[int, ...]:
    """The environments that it names, the one it is about first."""
    named = [finding.env, *(a.env for a in finding.affected), finding.other_env]
    return tuple(dict.fromkeys(e for e in named if e is not None))[:MOST_ENVS]


def place_of(finding: Finding) -> str:
    """Where it is: ``"1/9"`` is control step 9 of episode 1, ``"native 15"`` a step."""
    if finding.episode is not None and finding.control_step is not None:
        return f"{finding.episode}/{finding.control_step}"
    if finding.native is None:
        return NOTHING_KNOWN
    return f"native {finding.native[0]:,}"


def evidence_line(finding: Finding) -> str:
    """The number that shows it, in one line."""
    special = _LINES.get(finding.id)
    said = special(finding) if special is not None else ""
    return said or finding.headline


def _missed(finding: Finding) -> str:
    distance = finding.evidence.get("distance_to_own_state_m")
    return f"{distance:.3g} m off its own state" if _number(distance) else ""


def _changed(finding: Finding) -> str:
    return change_text(finding, " → ")


def _leak(finding: Finding) -> str:
    size = finding.evidence.get("size")
    return f"{finding.field} off by {size:.3g}" if _number(size) else ""


def _callback(finding: Finding) -> str:
    rows = finding.evidence.get("rows")
    field = (finding.field or "").partition(".")[0]
    return f"{field} moved in {counted(rows, 'step')}" if isinstance(rows, int) else ""


def _rewind(finding: Finding) -> str:
    left, to = finding.evidence.get("left_native"), finding.evidence.get("to_native")
    where = "the beginning" if to is None else f"native {to:,}"
    return f"native {left:,} was given up for {where}" if isinstance(left, int) else ""


_LINES: dict[str, Callable[[Finding], str]] = {
    "missed-restore": _missed,
    "config-changed": _changed,
    "hidden-leak": _leak,
    "callback-moved-state": _callback,
    "rewind": _rewind,
}


def facts(finding: Finding, tainted: Sequence[Stretch] = ()) -> list[tuple[str, str]]:
    """All of the evidence, and what it taints, as name and value."""
    found: list[tuple[str, str]] = []
    if finding.native is not None:
        first, last = finding.native
        many = f"{first:,} to {last:,}" if last > first else f"{first:,}"
        found.append(("native steps" if last > first else "native step", many))
    if finding.field:
        found.append(("field", finding.field))
    if finding.expected is not None and finding.id != "config-changed":
        found.append(("expected", value_text(finding.expected)))
    if finding.value is not None and finding.id != "config-changed":
        found.append(("value", value_text(finding.value)))
    for name, value in finding.evidence.items():
        if value is not None and name not in UNTOLD:
            found.append((_name(name), _value(value)))
    for low, high, env in tainted[:MOST_ENVS]:
        whose = "" if env is None or env == finding.env else f" of env {env}"
        found.append(("tainted", f"native {low:,} to {high:,}{whose}"))
    if len(tainted) > MOST_ENVS:
        found.append(("tainted", f"{len(tainted) - MOST_ENVS} more ranges"))
    if finding.confidence < 1:
        found.append(("confidence", f"{finding.confidence:.4g}"))
    return found


def before_after(finding: Finding) -> tuple[str, str] | None:
    """A changed value before and after; None where nothing changed."""
    if finding.id != "config-changed" or finding.native is None:
        return None
    before, after = finding.native
    return (
        f"{value_text(finding.expected)} at native step {before:,}",
        f"{value_text(finding.value)} at native step {after:,}",
    )


def checks_text(audit: Audit) -> str:
    """``"12 checks ran, 1 could not"``."""
    ran = sum(check.ran for check in audit.checks)
    could_not = len(audit.checks) - ran
    rest = f", {could_not} could not" if could_not else ""
    return f"{counted(ran, 'check')} ran{rest}"


def checks_listed(audit: Audit) -> str:
    """The names of the checks that ran."""
    return listed([check.id for check in audit.checks if check.ran])


def _name(key: str) -> str:
    """A key of the evidence for people; its unit goes behind it."""
    words = key.split("_")
    units = {"m": "m", "s": "s", "rad": "rad"}
    if len(words) > 1 and words[-1] in units:
        return f"{' '.join(words[:-1])} [{units[words[-1]]}]"
    return " ".join(words)


def _value(value: object) -> str:
    if isinstance(value, str):
        return PurePath(value).name or value  # of a file, its name is enough
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return value_text(value)


def _number(value: object) -> bool:
    return isinstance(value, float | int) and math.isfinite(value)
