"""Audit files one after the other for a command, each whole in memory only once."""

from pathlib import Path

from isoscope.app import console
from isoscope.app.examining import examine
from isoscope.app.reports.report import FileReport, file_report
from isoscope.core.errors import IsoscopeError, UsageError
from isoscope.core.isolation.audit import audit
from isoscope.core.isolation.context import Context


def audit_files(
    files: list[Path],
    reference: Path | None,
    substeps: int | None = None,
    *,
    full: bool = False,
) -> tuple[list[FileReport], dict[str, str]]:
    """Audit recordings; also says which could not be read, and why.

    Parameters
    ----------
    files
        Which.
    reference
        An independent twin that all of them are compared with.
    substeps
        M of all of them, where the user says it.
    full
        Whether the reports shall hold what only the page to look at shows.

    Raises
    ------
    ReadError
        If the reference can't be read.
    UsageError
        If a file is named twice, or is its own reference.
    """
    _refuse_twice(files, reference)
    twin = examine(reference, substeps) if reference is not None else None
    reports: list[FileReport] = []
    unread: dict[str, str] = {}
    for path in files:
        try:
            subject = examine(path, substeps)
        except IsoscopeError as error:
            unread[str(path)] = str(error)
            continue
        context = Context(subject, twin)
        with console.progress(f"checking {path.name}") as report:
            found = audit(context, report)
        reports.append(file_report(context, found, full=full))
    return reports, unread


def _refuse_twice(files: list[Path], reference: Path | None) -> None:
    seen: dict[Path, Path] = {}
    for path in files:
        real = path.resolve()
        if real in seen:
            raise UsageError(f"{path} is named twice")
        seen[real] = path
    if reference is not None and reference.resolve() in seen:
        raise UsageError(
            f"{reference} can't be its own reference: every environment would be equal"
        )
