"""Audit files one after the other for a command, each whole in memory only once."""

import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from isoscope.app import console
from isoscope.app.examining import examine
from isoscope.app.reports.report import FileReport, file_report
from isoscope.core.errors import IsoscopeError, UsageError
from isoscope.core.isolation.audit import audit
from isoscope.core.isolation.context import Context

if TYPE_CHECKING:
    from isoscope.core.isolation.context import Examined
    from isoscope.core.isolation.resimulator import Stepping
    from isoscope.core.replay.alone import SteppedAgain
    from isoscope.core.replay.engine import Blueprint, Engine

# Native steps that are stepped again unless it is said: some seconds' work.
STEPPED_UNASKED = 5_000


def audit_files(
    files: list[Path],
    reference: Path | None,
    substeps: int | None = None,
    *,
    full: bool = False,
    step_again: bool | None = None,
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
    step_again
        Whether environments that share a scene are stepped again, each alone, where an
        engine can; None does it for short recordings.

    Raises
    ------
    ReadError
        If the reference can't be read.
    UsageError
        If a file is named twice, or is its own reference.
    """
    _refuse_twice(files, reference)
    twin = (
        examine(reference, substeps, margins=False) if reference is not None else None
    )
    reports: list[FileReport] = []
    unread: dict[str, str] = {}
    for path in files:
        try:
            subject = examine(path, substeps, margins=False)
        except IsoscopeError as error:
            unread[str(path)] = str(error)
            continue
        with ExitStack() as stack:
            again = None
            could = step_again or subject.recording.labelled is not None
            if twin is None and step_again is not False and could:
                again = stack.enter_context(stepped_again(subject, asked=step_again))
            context = Context(subject, twin, again)
            report = stack.enter_context(console.progress(f"checking {path.name}"))
            found = audit(context, report)
        reports.append(file_report(context, found, full=full))
    return reports, unread


def stepped_again(
    subject: "Examined", *, asked: bool | None, stepping: "Stepping | None" = None
) -> "SteppedAgain":
    """What steps a recording's environments again, each alone, for its audit.

    Parameters
    ----------
    asked
        Whether the user wants it, whoever recorded it and however long it is.
    stepping
        Told how many native steps of how many were done.
    """
    from isoscope.app.replay_engines.choosing import EngineOptions, engine_maker
    from isoscope.app.replaying import make_builtin
    from isoscope.core.replay.alone import SteppedAgain

    def of_whoever_recorded(blueprint: "Blueprint") -> "Engine":
        return engine_maker(blueprint.identity, EngineOptions())(blueprint)

    return SteppedAgain(
        subject,
        of_whoever_recorded if asked else make_builtin,
        most_steps=None if asked else STEPPED_UNASKED,
        how_to_ask="isoscope audit --step-again",
        stepping=stepping,
    )


def _refuse_twice(files: list[Path], reference: Path | None) -> None:
    seen: set[str] = set()
    for path in files:
        # Unlike Path.resolve, this is silent about links that go in circles.
        real = os.path.realpath(path)
        if real in seen:
            raise UsageError(f"{path} is named twice")
        seen.add(real)
    if reference is not None and os.path.realpath(reference) in seen:
        raise UsageError(
            f"{reference} can't be its own reference: every environment would be equal"
        )
