"""A validation as a JUnit file: a suite a source, a test case a rule.

A rule that blocks is a failure. What fails without blocking, and what is waived, is
told as output of a case that passed; what could not be checked is skipped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree

from isoscope.app.reports.junit import add, clean, count, total
from isoscope.app.reports.validation_words import sentence_of
from isoscope.core.dataset.validate.words import place_text, told

if TYPE_CHECKING:
    from isoscope.core.dataset.validate.report import Report, RuleResult


def validation_junit(report: Report) -> bytes:
    """The file's content."""
    root = ElementTree.Element("testsuites", name="isoscope validation")
    suite = add(root, "testsuite", name=report.source)
    for rule in report.rules:
        case = add(suite, "testcase", classname=report.source, name=rule.id)
        if rule.answer == "not_checkable":
            add(case, "skipped", message=rule.message)
        elif rule.blocks:
            failure = add(case, "failure", message=told(rule), type=rule.severity)
            failure.text = clean(_text(rule))
        elif rule.answer != "passed":
            add(case, "system-out").text = clean(_text(rule))
    add(suite, "system-out").text = clean(sentence_of(report))
    count(suite)
    total(root)
    ElementTree.indent(root)
    content: bytes = ElementTree.tostring(root, "utf-8", xml_declaration=True)
    return content + b"\n"


def _text(rule: RuleResult) -> str:
    places = [place_text(where) for where in rule.where]
    more = rule.count - len(places)
    if places and more > 0:
        places.append(f"and {more:,} more")
    return "\n".join([f"{rule.answer} ({rule.severity}): {told(rule)}", *places])
