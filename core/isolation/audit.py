"""Run the checks over a recording and put together what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from isoscope.core.isolation.findings import (
    Audit,
    CheckRan,
    Finding,
    NotRun,
    worst_first,
)
from isoscope.core.isolation.registry import CannotRunError, all_checks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.isolation.context import Context


def audit(context: Context) -> Audit:
    """Run every check on one recording; findings come worst first."""
    findings: list[Finding] = []
    not_run: list[NotRun] = []
    checks: list[CheckRan] = []
    for key, check in all_checks().items():
        try:
            findings.extend(
                msgspec.structs.replace(finding, file=context.subject.file)
                for finding in check.run(context)
            )
        except CannotRunError as reason:
            not_run.append(NotRun(id=key, reason=reason.reason, needs=reason.needs))
            checks.append(CheckRan(id=key, ran=False))
        else:
            checks.append(CheckRan(id=key, ran=True))
    return Audit(
        files=[context.subject.file],
        findings=worst_first(findings),
        not_run=not_run,
        checks=checks,
    )


def merged(audits: Sequence[Audit]) -> Audit:
    """Put the audits of several files together; a check ran if it did on any."""
    ran: dict[str, bool] = {}
    for one in audits:
        for check in one.checks:
            ran[check.id] = ran.get(check.id, False) or check.ran
    return Audit(
        files=[name for one in audits for name in one.files],
        findings=[finding for one in audits for finding in one.findings],
        not_run=[reason for one in audits for reason in one.not_run],
        checks=[CheckRan(id=key, ran=value) for key, value in ran.items()],
    )
