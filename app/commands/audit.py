"""``isoscope audit``: what is wrong with a recording; for people and for CI."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoscope.app import console
from isoscope.app.commands.options import AsJson, Overwrite, Substeps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from isoscope.app.reports.report import FileReport
    from isoscope.core.isolation.findings import Finding, NotRun

FOUND, UNREADABLE = 1, 2


class FailOn(StrEnum):
    """From which severity on the exit status is 1."""

    error = "error"
    warning = "warning"
    note = "note"
    never = "never"


Files = Annotated[
    list[Path],
    typer.Argument(metavar="FILE", help="Recordings.", show_default=False),
]
Reference = Annotated[
    Path | None,
    typer.Option(
        "--reference",
        metavar="FILE",
        help="An independent twin: one of the environments with the same seed and "
        "actions, alone in its scene. Shows leaks that the recording can't show.",
        show_default=False,
    ),
]
StepAgain = Annotated[
    bool | None,
    typer.Option(
        "--step-again/--no-step-again",
        help="Step environments that share a scene again, each alone, from the "
        "recording's snapshots. Shows leaks that the recording can't show.",
        show_default="where the built-in simulator recorded it and it is short",
    ),
]
FailFrom = Annotated[
    FailOn,
    typer.Option(
        "--fail-on",
        help="Exit status 1 if there is a finding of this severity or a worse one.",
    ),
]
Html = Annotated[
    Path | None,
    typer.Option(
        "--html", metavar="OUT", help="Write a report to look at.", show_default=False
    ),
]
Junit = Annotated[
    Path | None,
    typer.Option(
        "--junit",
        metavar="OUT",
        help="Write a report that CI servers read: a test case a check and file.",
        show_default=False,
    ),
]


def audit(
    files: Files,
    reference: Reference = None,
    substeps: Substeps = None,
    step_again: StepAgain = None,
    fail_on: FailFrom = FailOn.error,
    as_json: AsJson = False,
    html: Html = None,
    junit: Junit = None,
    overwrite: Overwrite = False,
) -> int:
    """Check recordings for missed restores, leaks and more.

    Exit status 1 if there are findings from --fail-on on, 2 if a file can't be read.
    """
    from isoscope.app.auditing import audit_files
    from isoscope.core.errors import UsageError
    from isoscope.core.newfile import refuse_bad_target, same_place

    sources = [*files, *([reference] if reference else [])]
    if same_place(html, junit):
        raise UsageError(f"--html and --junit both name {html}")
    for out in (html, junit):
        if out is not None:
            refuse_bad_target(out, overwrite=overwrite, sources=sources)
    if reference is not None and step_again:
        raise UsageError("--reference and --step-again both are twins; give one")
    reports, unread = audit_files(
        files, reference, substeps, full=html is not None, step_again=step_again
    )
    for line in unread.values():
        console.tell(line)
    if not reports:
        return UNREADABLE
    _write(reports, unread, html, junit, fail_on, overwrite, sources)
    if as_json:
        console.emit_json(_as_json(reports, unread))
    elif html is None and junit is None:
        console.emit(*_parts(reports))
    if unread:
        return UNREADABLE
    found = [finding for report in reports for finding in report.audit.findings]
    return FOUND if fails(found, fail_on) else 0


def fails(findings: "Sequence[Finding]", fail_on: FailOn) -> bool:
    """Whether one of the findings is at least as severe as that."""
    from isoscope.core.isolation.findings import SEVERITIES

    if fail_on is FailOn.never:
        return False
    counted = SEVERITIES[: SEVERITIES.index(fail_on.value) + 1]
    return any(finding.severity in counted for finding in findings)


def _write(
    reports: "list[FileReport]",
    unread: dict[str, str],
    html: Path | None,
    junit: Path | None,
    fail_on: FailOn,
    overwrite: bool,
    sources: list[Path],
) -> None:
    from isoscope.core.newfile import new_file

    if html is not None:
        from isoscope.app.reports.html import html_report

        content = html_report(reports, unread).encode()
        with new_file(html, overwrite=overwrite, sources=sources) as file:
            file.write(content)
        console.tell(f"wrote {html}")
    if junit is not None:
        from isoscope.app.reports.junit import junit_report

        content = junit_report(reports, unread, fail_on.value)
        with new_file(junit, overwrite=overwrite, sources=sources) as file:
            file.write(content)
        console.tell(f"wrote {junit}")


def _as_json(reports: "list[FileReport]", unread: dict[str, str]) -> dict[str, Any]:
    import msgspec

    from isoscope.core.isolation.audit import merged

    written: dict[str, Any] = msgspec.to_builtins(
        merged([report.audit for report in reports])
    )
    if unread:
        written["unread"] = [{"file": k, "error": v} for k, v in unread.items()]
    return written


# -- tables ----------------------------------------------------------------------------


def _parts(reports: "list[FileReport]") -> list[Any]:
    several = len(reports) > 1
    parts: list[Any] = []
    for report in reports:
        name = f"{report.audit.files[0]}: " if several else ""
        parts.append(f"{name}{report.sentence}")
        if report.audit.findings:
            parts += [_findings(report), _remedies(report.audit.findings)]
        if report.audit.not_run:
            parts.append(_not_run(report.audit.not_run))
    return parts


def _findings(report: "FileReport") -> "Table":
    from rich.text import Text

    colours = {"error": "red", "warning": "yellow", "note": "cyan"}
    table = console.table(
        "severity",
        "check",
        "env",
        "episode",
        "control step",
        "native steps",
        "what",
        right=("env", "episode", "control step", "native steps"),
    )
    for finding in report.audit.findings:
        table.add_row(
            Text(finding.severity, colours[finding.severity]),
            finding.id,
            _known(finding.env),
            _known(finding.episode),
            _known(finding.control_step),
            _range(finding.native),
            Text(finding.message),
        )
    for check in report.audit.checks:
        listed = sum(f.id == check.id for f in report.audit.findings)
        if check.found > listed:
            table.add_row("", check.id, *[""] * 4, f"and {check.found - listed:,} more")
    return table


def _known(number: int | None) -> str:
    return "" if number is None else str(number)


def _range(native: tuple[int, int] | None) -> str:
    if native is None:
        return ""
    first, last = native
    return str(first) if first == last else f"{first} to {last}"


def _remedies(findings: "list[Finding]") -> "Table":
    from rich.text import Text

    table = console.table("check", "what to do")
    for key, remedy in dict.fromkeys((f.id, f.remedy) for f in findings):
        table.add_row(key, Text(remedy))
    return table


def _not_run(not_run: "list[NotRun]") -> "Table":
    from rich.text import Text

    table = console.table("could not run", "why", "needs")
    for one in not_run:
        table.add_row(one.id, Text(one.reason), Text(one.needs))
    return table
