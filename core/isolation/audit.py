"""Run the checks over a recording and put together what they say."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from isoscope.core.errors import CancelledError
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
    from isoscope.core.recording.source import Cancel, Progress

# Findings of one check that are listed; a run in which every step is wrong has as many
# as steps, and nobody reads them one by one. The rest is counted.
LISTED_AT_MOST = 1000


def audit(
    context: Context,
    progress: Progress | None = None,
    cancelled: Cancel | None = None,
    only: Sequence[str] | None = None,
) -> Audit:
    """Run every check on one recording; findings come worst first.

    Parameters
    ----------
    context
        What to look at.
    progress
        Called with (checks done, checks in all).
    cancelled
        Asked between two checks.
    only
        Ids of the checks that are run; None (the default) for all.

    Raises
    ------
    CancelledError
        If `cancelled` said so.
    """
    findings: list[Finding] = []
    not_run: list[NotRun] = []
    checks: list[CheckRan] = []
    file = context.subject.file
    known = {
        key: check for key, check in all_checks().items() if only is None or key in only
    }
    for number, (key, check) in enumerate(known.items()):
        if cancelled is not None and cancelled():
            raise CancelledError(f"checking {file} was stopped")
        more = 0
        try:
            found = iter(check.run(context))
            own = list(islice(found, LISTED_AT_MOST))
            more = sum(1 for _ in found)
        except CannotRunError as reason:
            not_run.append(
                NotRun(id=key, reason=reason.reason, needs=reason.needs, file=file)
            )
            checks.append(CheckRan(id=key, ran=False))
        else:
            findings.extend(msgspec.structs.replace(f, file=file) for f in own)
            checks.append(CheckRan(id=key, ran=True, found=len(own) + more))
        if progress is not None:
            progress(number + 1, len(known))
    return Audit(
        files=[file],
        findings=worst_first(findings),
        not_run=not_run,
        checks=checks,
    )


def together(later: Audit, earlier: Audit) -> Audit:
    """Two audits of one recording: of each check what the later one says, if it ran."""
    ran = {check.id for check in later.checks if check.ran}
    kept = [f for f in earlier.findings if f.id not in ran]
    before = {check.id: check for check in earlier.checks if check.id not in ran}
    known = ran | {key for key, check in before.items() if check.ran}
    return Audit(
        files=later.files,
        findings=worst_first([*later.findings, *kept]),
        not_run=[
            reason
            for reason in {
                **{reason.id: reason for reason in later.not_run},
                **{reason.id: reason for reason in earlier.not_run},
            }.values()
            if reason.id not in known
        ],
        checks=[*(c for c in later.checks if c.id in ran), *before.values()],
    )


def merged(audits: Sequence[Audit]) -> Audit:
    """Put the audits of several files together; a check ran if it did on any."""
    ran: dict[str, CheckRan] = {}
    for one in audits:
        for check in one.checks:
            before = ran.get(check.id, CheckRan(id=check.id, ran=False))
            ran[check.id] = CheckRan(
                id=check.id,
                ran=before.ran or check.ran,
                found=before.found + check.found,
            )
    return Audit(
        files=[name for one in audits for name in one.files],
        findings=[finding for one in audits for finding in one.findings],
        not_run=[reason for one in audits for reason in one.not_run],
        checks=list(ran.values()),
    )
