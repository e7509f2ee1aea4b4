"""What a validation says, in words that reports and the window share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isoscope.core.dataset.validate.report import RuleResult
    from isoscope.core.dataset.validate.rule import Where


def told(rule: RuleResult) -> str:
    """What a rule says, in one line."""
    said = rule.message or rule.about
    if rule.answer == "waived":
        return f"{said}; waived by {rule.waived_by}: {rule.why}"
    return said


def place_text(where: Where) -> str:
    """A place in words: ``"env0-ep3, row 7, observation[1]: nan, not finite"``."""
    parts = []
    if where.episode is not None:
        parts.append(where.episode)
    elif where.env is not None:
        parts.append(f"env {where.env}")
    if where.step is not None:
        parts.append(f"row {where.step:,}")
    if where.feature is not None:
        inside = "" if where.component is None else f"[{where.component}]"
        parts.append(f"{where.feature}{inside}")
    said = ", ".join(parts) or "all of it"
    if where.value is not None:
        said += f": {value_text(where.value)}"
    if where.expected is not None:
        said += f", not {value_text(where.expected)}"
    return said


def value_text(value: object) -> str:
    """A value as it is shown."""
    if isinstance(value, list | tuple):
        return f"({', '.join(value_text(one) for one in value[:8])})"
    return number(value) if isinstance(value, float) else str(value)


def number(value: float) -> str:
    """A real in few digits."""
    return f"{value:.6g}"
