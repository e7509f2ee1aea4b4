"""What a report says of one audited file; made while its recording is at hand."""

from __future__ import annotations

import hashlib
import platform
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from isoscope.app.reports.evidence import plots_of
from isoscope.core.isolation.sentence import sentence_of
from isoscope.core.isolation.stretches import stretches
from isoscope.core.recording.model import StepKind
from isoscope.core.summary import summarize
from isoscope.core.version import isoscope_version

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.app.reports.evidence.plot import Plot
    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.findings import Audit
    from isoscope.core.isolation.stretches import Stretch

TAINTS_AT_MOST = 200  # findings of which it is told what they taint
CHUNK_BYTES = 1 << 20
PACKAGES = ("numpy", "h5py")


@dataclass(frozen=True, slots=True)
class FileReport:
    """One audited file.

    Attributes
    ----------
    audit
        What was found.
    sentence
        What it is and what is wrong with it.
    summary
        What the recording holds.
    facts
        Name and value: how whose the steps were is known, the file's size and digest.
    reference
        The independent twin's file, or None.
    plots
        By the finding's place in the audit's list.
    tainted
        What each finding taints, in the order of the audit's list.
    """

    audit: Audit
    sentence: str
    summary: str = ""
    facts: list[tuple[str, str]] = field(default_factory=list)
    reference: str | None = None
    plots: dict[int, Plot] = field(default_factory=dict)
    tainted: list[tuple[Stretch, ...]] = field(default_factory=list)

    @property
    def file(self) -> str:
        """Its path."""
        return self.audit.files[0]


def file_report(context: Context, audit: Audit, *, full: bool = False) -> FileReport:
    """Put a report together; `full` adds what only the page to look at shows."""
    subject = context.subject
    said = sentence_of(subject.recording, subject.attribution, audit)
    sentence = "".join(text for text, _ in said)
    own = cache(subject.rows_of)
    if not full:
        return FileReport(audit, sentence)
    return FileReport(
        audit,
        sentence,
        summarize(subject.recording),
        _facts(context),
        None if context.reference is None else context.reference.file,
        plots_of(context, audit.findings),
        [
            stretches(subject.attribution.labels, finding, own)
            for finding in audit.findings[:TAINTS_AT_MOST]
        ],
    )


def _facts(context: Context) -> list[tuple[str, str]]:
    subject = context.subject
    attribution = subject.attribution
    substeps = attribution.substeps_how or "unknown"
    if attribution.substeps is not None:
        substeps = f"{attribution.substeps}: {substeps}"
    rows = [
        ("native steps", f"{len(attribution):,}"),
        ("environments", f"{attribution.environments:,}"),
        ("episodes", f"{attribution.episodes:,}"),
        ("substeps per control step", substeps),
    ]
    free = bool((attribution.labels.kind == StepKind.FREE).any())
    if attribution.origin == "recording" and not free:
        rows.append(("control steps count from", "the first whole one recorded"))
    rows += [("remark", note) for note in attribution.notes]
    path = subject.recording.path
    rows.append(("bytes", f"{subject.recording.size_bytes:,}"))
    rows.append(("SHA-256", "unknown" if path is None else digest(path)))
    reference = context.reference
    if reference is not None and reference.recording.path is not None:
        rows.append(("SHA-256 of the reference", digest(reference.recording.path)))
    return rows


def digest(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal; "unknown" if it can't be read any more."""
    found = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                found.update(chunk)
    except OSError:
        return "unknown"
    return found.hexdigest()


def versions() -> list[tuple[str, str]]:
    """What the report was made with."""
    rows = [("isoscope", isoscope_version()), ("Python", platform.python_version())]
    for package in PACKAGES:
        try:
            rows.append((package, version(package)))
        except PackageNotFoundError:
            rows.append((package, "unknown"))
    rows.append(("system", f"{platform.system()} {platform.machine()}"))
    return rows
