"""Put a manifest together: episodes, what was done to them, what was written."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from isoscope.core.dataset.manifest.forms import (
    EpisodeEntry,
    Manifest,
    Source,
    Validation,
)
from isoscope.core.dataset.manifest.hashes import entries, together
from isoscope.core.dataset.manifest.inside import extent_of
from isoscope.core.dataset.manifest.missing import missing_of
from isoscope.core.dataset.manifest.stored import NAME, digest_of, read_manifest
from isoscope.core.dataset.manifest.told import told_of
from isoscope.core.dataset.manifest.values import fields_of
from isoscope.core.errors import IsoscopeError
from isoscope.core.jsonform import encode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from isoscope.core.dataset.curate.edits import Edit
    from isoscope.core.dataset.exporters.plan import Plan
    from isoscope.core.dataset.manifest.inside import Extent
    from isoscope.core.dataset.model import Episode, Episodes
    from isoscope.core.dataset.validate.report import Report
    from isoscope.core.isolation.findings import Audit
    from isoscope.core.recording.model import Recording
    from isoscope.core.recording.source import Cancel, Progress


SPARE = 512  # bytes in a file's manifest for its digests and its size


@dataclass(frozen=True, slots=True)
class Made:
    """What a manifest is made of, besides what was written.

    Attributes
    ----------
    episodes
        As they are exported: chosen ones.
    recording
        Whose transitions they are; None for a dataset.
    beside
        Files that were given beside it.
    substeps
        M, where the attribution found it out.
    made_with
        Versions by name.
    """

    episodes: Episodes
    recording: Recording | None = None
    audit: Audit | None = None
    report: Report | None = None
    edits: Sequence[Edit] = ()
    made_with: Mapping[str, str] = field(default_factory=dict)
    beside: Sequence[Path] = ()
    substeps: int | None = None


def manifest_of(
    made: Made,
    plan: Plan,
    format: str,
    content: Path,
    *,
    name: str = "",
    room: Callable[[int], Extent] | None = None,
    progress: Progress | None = None,
    cancelled: Cancel | None = None,
) -> Manifest:
    """Describe an export.

    Parameters
    ----------
    plan
        As the exporter used it.
    content
        The file or folder that was written; read here.
    name
        What a file will be called.
    room
        Called with the bytes that the manifest may have in the file: makes room there,
        which counts as zeros in the file's digest.
    progress
        Told columns done and in all.

    Raises
    ------
    ReadError
        If source or content can't be read.
    CancelledError
        If `cancelled` said so.
    """
    episodes = made.episodes
    told = told_of(episodes, made.recording, made.substeps)
    listed = [_episode(episode) for episode in plan.episodes()]
    fields = fields_of(plan, progress, cancelled)
    result = Manifest(
        format=format,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        made_with=dict(made.made_with),
        source=_source(made, cancelled),
        identity=_plain(episodes.identity),
        configuration=_plain(told.configuration),
        clocks=told.clocks,
        environments=sorted({e.env for e in listed if e.env is not None}),
        episodes=listed,
        transitions=sum(e.length for e in listed),
        fields=fields,
        fields_map={
            c.source: c.feature.name
            for c in plan.columns
            if not c.derived and c.source and c.take != "after"
        },
        splits={name: list(chosen) for name, chosen in plan.splits.items()},
        reasons=told.reasons,
        frames=told.frames,
        failures=told.failures,
        solver=told.solver,
        dropped=[{"why": d.why, "count": d.count} for d in episodes.dropped],
        left_out=list(plan.left_out),
        edits=[msgspec.to_builtins(edit) for edit in made.edits],
        waivers=_waivers(made.report),
        validation=None if made.report is None else _validation(made.report),
        audit=None if made.audit is None else _counts(made.audit),
        findings={
            check.id: check.found
            for check in (made.audit.checks if made.audit is not None else ())
            if check.found
        },
    )
    result = msgspec.structs.replace(result, missing=missing_of(result, told))
    blank = None
    if room is not None:
        blank = room(len(written(result)) + SPARE + 4 * len(name))
    files = entries(content, [NAME], cancelled, blank)
    if not content.is_dir() and name:
        files = [msgspec.structs.replace(files[0], path=name)]
    return msgspec.structs.replace(
        result, files=files, sha256=together(files, folder=content.is_dir())
    )


def written(manifest: Manifest) -> bytes:
    """A manifest as it is stored."""
    return encode(manifest, indent=1) + b"\n"


def _source(made: Made, cancelled: Cancel | None) -> Source:
    """Where episodes come from, with its digest."""
    episodes, recording = made.episodes, made.recording
    path = _place(episodes)
    if path is None or not path.exists():
        return Source(
            path=episodes.name, format=episodes.format, sha256=None, bytes=None
        )
    # As its own manifest has it, which is no part of the data.
    found = entries(path, [NAME], cancelled, _blank(path))
    problems = [] if recording is None else [str(p) for p in recording.problems]
    complete = None if recording is None else bool(recording.complete)
    return Source(
        path=path.name,
        format=episodes.format,
        sha256=together(found, folder=path.is_dir()),
        bytes=sum(entry.bytes for entry in found),
        complete=complete,
        problems=problems or [str(p) for p in getattr(episodes, "problems", ())],
        beside=[one for given in made.beside for one in entries(given)],
        manifest=_inherited(path),
    )


def _blank(path: Path) -> Extent | None:
    try:
        return extent_of(path)
    except IsoscopeError:  # it is damaged, and all of it counts
        return None


def _place(episodes: Episodes) -> Path | None:
    """The whole of a dataset, also where the description in its folder was named."""
    root: Path | None = getattr(getattr(episodes, "source", episodes), "root", None)
    return root if root is not None and root.is_dir() else episodes.path


def _inherited(path: Path) -> dict[str, Any] | None:
    """What the source's own manifest says that must not get lost."""
    try:
        digest = digest_of(path)
        if digest is None:
            return None
        before = read_manifest(path)
    except IsoscopeError as error:
        return {"unreadable": str(error)}
    kept: dict[str, Any] = {
        "sha256": digest,
        "source": msgspec.to_builtins(before.source),
        "waivers": msgspec.to_builtins(before.waivers),
        "edits": before.edits,
        "failures": before.failures,
        "dropped": before.dropped,
    }
    return kept


def _episode(episode: Episode) -> EpisodeEntry:
    notes = episode.notes
    cut = notes.get("control_steps")
    seed = episode.seed
    return EpisodeEntry(
        index=episode.index,
        id=episode.id,
        length=episode.length,
        env=episode.env,
        number=episode.number,
        terminated=episode.terminated,
        truncated=episode.truncated,
        complete=episode.complete,
        final=episode.final,
        # JSON readers differ beyond 64 bits.
        seed=seed if seed is None or -(2**63) <= seed < 2**63 else str(seed),
        native=episode.native,
        source=notes.get("of"),
        control_steps=None if cut is None else (int(cut[0]), int(cut[1])),
        tags=list(notes.get("tags", ())),
        tainted=notes.get("tainted"),
    )


def _waivers(report: Report | None) -> list[Any]:
    from isoscope.core.dataset.validate.report import Waiver

    return [
        Waiver(rule=rule.id, by=rule.waived_by or "", why=rule.why or "")
        for rule in (report.rules if report is not None else [])
        if rule.answer == "waived"
    ]


def _validation(report: Report) -> Validation:
    by: dict[str, list[str]] = {}
    for rule in report.rules:
        by.setdefault(rule.answer, []).append(rule.id)
    return Validation(
        sha256=hashlib.sha256(encode(report)).hexdigest(),
        blocking=report.blocking,
        passed=by.get("passed", []),
        failed=by.get("failed", []),
        waived=by.get("waived", []),
        not_checkable=by.get("not_checkable", []),
    )


def _counts(audit: Audit) -> dict[str, int]:
    return {
        "errors": audit.count("error"),
        "warnings": audit.count("warning"),
        "notes": audit.count("note"),
        "checks": len(audit.checks),
        "checks_not_run": len(audit.not_run),
    }


def _plain(value: Any) -> Any:
    """A copy that JSON can hold, whatever a reader put in."""
    if isinstance(value, dict) or hasattr(value, "items"):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic | np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, int) and not isinstance(value, bool):
        return value if -(2**63) <= value < 2**63 else str(value)
    return value if value is None or isinstance(value, str | float) else _flat(value)


def _flat(value: Any) -> Any:
    return value if isinstance(value, bool) else str(value)
