"""A validation in words and shapes. No Qt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from isoscope.core.summary import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.dataset.validate.report import Report, RuleResult, Waiver

# From what blocks to what says nothing.
ORDER = ("error", "warning", "waived", "not checkable", "passed")
SHAPES = {
    "error": "▲",
    "warning": "●",
    "waived": "◇",
    "not checkable": "–",
    "passed": "✓",
}


def kind_of(rule: RuleResult) -> str:
    """One of `ORDER`."""
    if rule.answer == "failed":
        return rule.severity
    return rule.answer.replace("_", " ")


def ordered(report: Report) -> list[RuleResult]:
    """Rules, what blocks first."""
    return sorted(report.rules, key=lambda rule: ORDER.index(kind_of(rule)))


def sentence(report: Report) -> str:
    """Whether it may be exported, and what is wrong with it."""
    kinds = [kind_of(rule) for rule in report.rules]
    of = counted(len(report.rules), "rule")
    if report.blocking:
        blocking = [rule.id for rule in report.rules if rule.blocks]
        verb = "fails" if len(blocking) == 1 else "fail"
        return (
            f"Can't be exported: {', '.join(blocking)} {verb}. Cut the rows, or waive "
            "the rule and say why."
        )
    parts = [
        text
        for count, text in (
            (kinds.count("warning"), f"{counted(kinds.count('warning'), 'warning')}"),
            (kinds.count("waived"), f"{kinds.count('waived')} waived"),
            (
                kinds.count("not checkable"),
                f"{kinds.count('not checkable')} not checkable",
            ),
        )
        if count
    ]
    return f"Can be exported: of {of} none blocks" + (
        f"; {', '.join(parts)}." if parts else "."
    )


def with_waivers(report: Report, waivers: Mapping[str, Waiver]) -> Report:
    """A report in which these rules are waived."""
    rules = []
    for rule in report.rules:
        waiver = waivers.get(rule.id)
        if waiver is not None and rule.answer == "failed":
            rule = msgspec.structs.replace(
                rule, answer="waived", waived_by=waiver.by, why=waiver.why
            )
        rules.append(rule)
    blocking = any(rule.blocks for rule in rules)
    return msgspec.structs.replace(report, rules=rules, blocking=blocking)
