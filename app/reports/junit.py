"""An audit as a JUnit file: a suite a recording, a test case a check.

The form is the one that CI servers agree on: ``testsuites`` of ``testsuite`` of
``testcase``, with ``failure``, ``error``, ``skipped`` and ``system-out`` in it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from isoscope.core.isolation.findings import SEVERITIES

if TYPE_CHECKING:
    from isoscope.app.reports.report import FileReport
    from isoscope.core.isolation.findings import Finding

# XML 1.0 has no place for most control characters, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_report(
    reports: list[FileReport], unread: dict[str, str], fail_on: str
) -> bytes:
    """The file's content.

    Parameters
    ----------
    reports, unread
        Audited files, and those that could not be read with the reason: an error.
    fail_on
        From which severity on a finding is a failure; what is below it, or all for
        ``"never"``, is told as output of a case that passed.
    """
    root = ElementTree.Element("testsuites", name="isoscope audit")
    failing = SEVERITIES[: SEVERITIES.index(fail_on) + 1] if fail_on != "never" else ()
    for report in reports:
        _suite(root, report, failing)
    for path, why in unread.items():
        suite = add(root, "testsuite", name=path)
        case = add(suite, "testcase", classname=path, name="read")
        add(case, "error", message=why, type="unreadable").text = clean(why)
        count(suite)
    total(root)
    ElementTree.indent(root)
    content: bytes = ElementTree.tostring(root, "utf-8", xml_declaration=True)
    return content + b"\n"


def _suite(
    root: ElementTree.Element, report: FileReport, failing: tuple[str, ...]
) -> None:
    audit = report.audit
    suite = add(root, "testsuite", name=report.file)
    why = {one.id: one for one in audit.not_run}
    for check in audit.checks:
        case = add(suite, "testcase", classname=report.file, name=check.id)
        if not check.ran:
            one = why.get(check.id)
            said = (
                "could not run" if one is None else f"{one.reason}; needs {one.needs}"
            )
            add(case, "skipped", message=said)
            continue
        own = [f for f in audit.findings if f.id == check.id]
        bad = [f for f in own if f.severity in failing]
        rest = [f for f in own if f.severity not in failing]
        if bad:
            more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
            failure = add(
                case, "failure", message=f"{bad[0].message}{more}", type=bad[0].severity
            )
            failure.text = _text(bad)
        if rest:
            add(case, "system-out").text = _text(rest)
    add(suite, "system-out").text = clean(report.sentence)
    count(suite)


def _text(findings: list[Finding]) -> str:
    return clean(
        "\n\n".join(
            f"{f.severity}: {f.message}\nWhat to do: {f.remedy}" for f in findings
        )
    )


def add(
    parent: ElementTree.Element, tag: str, **attributes: str
) -> ElementTree.Element:
    """Add an element; attributes are cleaned."""
    given = {name: clean(value) for name, value in attributes.items()}
    return ElementTree.SubElement(parent, tag, given)


def clean(text: str) -> str:
    """Text without what XML can't hold."""
    return _NOT_XML.sub("\ufffd", text)


def count(suite: ElementTree.Element) -> None:
    """Set a suite's counts from its cases."""
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for tag, name in (
        ("failure", "failures"),
        ("error", "errors"),
        ("skipped", "skipped"),
    ):
        suite.set(name, str(sum(case.find(tag) is not None for case in cases)))


def total(root: ElementTree.Element) -> None:
    """Set the counts of all suites together."""
    for name in ("tests", "failures", "errors", "skipped"):
        found = sum(int(suite.get(name, "0")) for suite in root.findall("testsuite"))
        root.set(name, str(found))
