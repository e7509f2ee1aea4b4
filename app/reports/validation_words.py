"""A validation in words: the sentence, a rule's, a place's, how an episode ended."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoscope.core.summary import counted

if TYPE_CHECKING:
    from isoscope.core.dataset.validate.report import EpisodeLine, Report, RuleResult
    from isoscope.core.dataset.validate.rule import Where


def sentence_of(report: Report) -> str:
    """What it is, and whether it may be exported."""
    name = Path(report.source).name
    what = (
        f"{counted(len(report.episodes), 'episode')} with "
        f"{counted(report.transitions, 'transition')}"
    )
    blocking = [rule.id for rule in report.rules if rule.blocks]
    if blocking:
        fail = "fails" if len(blocking) == 1 else "fail"
        return (
            f"{name} can't be exported: of {what}, {', '.join(blocking)} {fail}. Cut "
            "the rows, or waive the rule and say why."
        )
    remarks = [
        f"{counted(number, word)}"
        for word, number in (
            ("warning", sum(r.answer == "failed" for r in report.rules)),
            ("waived rule", sum(r.answer == "waived" for r in report.rules)),
        )
        if number
    ]
    ending = f", with {' and '.join(remarks)}" if remarks else ", and no rule failed"
    return f"{name} can be exported: {what}{ending}."


def told(rule: RuleResult) -> str:
    """What a rule says."""
    said = rule.message or rule.about
    if rule.answer == "waived":
        return f"{said}; waived by {rule.waived_by}: {rule.why}"
    return said


def place_text(where: Where) -> str:
    """A place in words: ``"ep 3, row 7, observation[1]: nan, not finite"``."""
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
    said = ", ".join(parts)
    if where.value is not None:
        said += f": {value_text(where.value)}"
    if where.expected is not None:
        said += f", not {value_text(where.expected)}"
    return said


def value_text(value: Any) -> str:
    """A value as it is shown."""
    if isinstance(value, list | tuple):
        return f"({', '.join(value_text(one) for one in value[:8])})"
    return number(value) if isinstance(value, float) else str(value)


def number(value: float) -> str:
    """A real in few digits."""
    return f"{value:.6g}"


def ended(line: EpisodeLine) -> str:
    """How an episode ended."""
    if not line.complete:
        return "incomplete"
    flags = [name for name in ("terminated", "truncated") if getattr(line, name)]
    if flags:
        return " and ".join(flags)
    return "unknown" if line.terminated is None else "incomplete"
