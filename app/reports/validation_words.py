"""A validation in words: the sentence, and how an episode ended."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from isoscope.core.summary import counted

if TYPE_CHECKING:
    from isoscope.core.dataset.validate.report import EpisodeLine, Report


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


def ended(line: EpisodeLine) -> str:
    """How an episode ended."""
    if not line.complete:
        return "incomplete"
    flags = [name for name in ("terminated", "truncated") if getattr(line, name)]
    if flags:
        return " and ".join(flags)
    return "unknown" if line.terminated is None else "incomplete"
