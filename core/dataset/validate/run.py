"""Run all rules in one pass over the values, in windows of bounded size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.dataset.validate.registry import RULES, rule
from isoscope.core.dataset.validate.report import (
    EpisodeLine,
    Report,
    RuleResult,
    Waiver,
)
from isoscope.core.dataset.validate.rule import (
    NotCheckableError,
    Outcome,
    Subject,
    Where,
)
from isoscope.core.dataset.validate.rules.readable import ReadableRule
from isoscope.core.errors import CancelledError, ReadError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoscope.core.dataset.model import Episode, Episodes, Feature
    from isoscope.core.dataset.validate.rule import Rule
    from isoscope.core.isolation.findings import Audit, Finding
    from isoscope.core.recording.source import Cancel, Progress
    from isoscope.core.recording.tracks import Array

WINDOW_BYTES = 4 << 20
AUDIT = "audit:"


def validate(
    episodes: Episodes,
    audit: Audit | None = None,
    waivers: Sequence[Waiver] = (),
    progress: Progress | None = None,
    cancelled: Cancel | None = None,
) -> Report:
    """Validate episodes.

    Parameters
    ----------
    audit
        Of the recording that they come from: each of its findings counts as a rule.
    waivers
        Rules that may fail. One of a rule that there isn't is refused.
    progress
        Told episodes (done, in all).

    Raises
    ------
    UsageError
        If a waiver names no rule.
    ReadError
        If the episodes can't be listed, or hardly anything of them can be read; some
        values that can't be are what the rule `readable` is about.
    CancelledError
        If `cancelled` said so.
    """
    found = audit.findings if audit is not None else []
    known = [*RULES, *dict.fromkeys(AUDIT + finding.id for finding in found)]
    for waiver in waivers:
        if waiver.rule not in known:
            there = ", ".join(known)
            raise UsageError(f"there is no rule {waiver.rule!r} to waive; {there}")
    subject = Subject(episodes, audit)
    running, refused = _begun(subject)
    lines: list[EpisodeLine] = []
    for number, episode in enumerate(episodes.episodes):
        if cancelled is not None and cancelled():
            raise CancelledError(f"validating {episodes.name} was stopped")
        with np.errstate(all="ignore"):  # what is not finite has a rule of its own
            lines.append(_pass(episodes, episode, running))
        if progress is not None:
            progress(number + 1, len(episodes.episodes))
    results = []
    for key in RULES:
        if key in refused:
            results.append(_result(rule(key), None, refused[key]))
            continue
        with np.errstate(all="ignore"):
            found_out = running[key].finish()
        results.append(_result(running[key], found_out, ""))
    if audit is not None:
        results += _of_audit(audit)
    results = [_waived(result, waivers) for result in results]
    return Report(
        source=str(episodes.path or episodes.name),
        rules=results,
        blocking=any(result.blocks for result in results),
        transitions=sum(e.length for e in episodes.episodes),
        episodes=lines,
        dropped=[{"why": d.why, "count": d.count} for d in episodes.dropped],
    )


def _begun(subject: Subject) -> tuple[dict[str, Rule], dict[str, str]]:
    running: dict[str, Rule] = {}
    refused: dict[str, str] = {}
    for key in RULES:
        made = rule(key)
        try:
            made.begin(subject)
        except NotCheckableError as error:
            refused[key] = str(error)
        else:
            running[key] = made
    return running, refused


def _pass(
    episodes: Episodes, episode: Episode, running: dict[str, Rule]
) -> EpisodeLine:
    readable = running["readable"]
    assert isinstance(readable, ReadableRule)
    rows: dict[str, int] = {}
    total: float | None = None
    for feature in episodes.features:
        rows[feature.name] = 0
        try:
            for start, values in windows(episodes, episode, feature):
                rows[feature.name] += len(values)
                for made in running.values():
                    made.take(episode, feature, start, values)
                if feature.role == "reward":
                    total = (total or 0.0) + float(values.astype(np.float64).sum())
        except ReadError as error:
            readable.missed(episode, feature.name, error)
            del rows[feature.name]
            if feature.role == "reward":
                total = None
    whole = len(rows) == len(episodes.features)
    for made in running.values():
        try:
            made.end(episode, rows)
        except ReadError as error:
            if whole:  # else it was told by feature
                readable.missed(episode, None, error)
                whole = False
    hz = episodes.control_hz
    return EpisodeLine(
        id=episode.id,
        env=episode.env,
        length=episode.length,
        terminated=episode.terminated,
        truncated=episode.truncated,
        complete=episode.complete,
        return_=total,
        return_s=total / hz if total is not None and hz else None,
    )


def windows(
    episodes: Episodes, episode: Episode, feature: Feature
) -> Iterator[tuple[int, Array]]:
    """Yield (first row, rows) of a feature to its end, whatever the episode claims."""
    row_bytes = max(int(np.prod(feature.shape, dtype=np.int64)), 1)
    row_bytes *= max(feature.dtype.itemsize, 1)
    size = max(WINDOW_BYTES // row_bytes, 1)
    start = 0
    while True:
        values = episodes.read(episode.index, feature.name, start, start + size)
        if len(values):
            yield start, values
        start += len(values)
        if len(values) < size:
            return


def _result(made: Rule, outcome: Outcome | None, refused: str) -> RuleResult:
    if outcome is None:
        return RuleResult(
            id=made.ID,
            answer="not_checkable",
            severity=made.SEVERITY,
            about=made.ABOUT,
            message=refused,
        )
    return RuleResult(
        id=made.ID,
        answer="failed" if outcome.count else "passed",
        severity=made.SEVERITY,
        about=made.ABOUT,
        message=outcome.message,
        count=outcome.count,
        where=outcome.where,
    )


def _of_audit(audit: Audit) -> list[RuleResult]:
    """A rule for each kind of finding; notes don't matter for a dataset."""
    by_id: dict[str, list[Finding]] = {}
    for finding in audit.findings:
        if finding.severity != "note":
            by_id.setdefault(finding.id, []).append(finding)
    return [
        RuleResult(
            id=AUDIT + key,
            answer="failed",
            severity="error"
            if any(f.severity == "error" for f in found)
            else "warning",
            about=f"the audit of the recording finds no {key}",
            message=found[0].message,
            count=len(found),
            where=[
                Where(
                    env=f.env,
                    episode=None if f.episode is None else f"env{f.env}-ep{f.episode}",
                    step=None if f.control_step is None else max(f.control_step - 1, 0),
                    feature=f.field,
                )
                for f in found[:20]
            ],
        )
        for key, found in by_id.items()
    ]


def _waived(result: RuleResult, waivers: Sequence[Waiver]) -> RuleResult:
    for waiver in waivers:
        if waiver.rule == result.id and result.answer == "failed":
            return RuleResult(
                id=result.id,
                answer="waived",
                severity=result.severity,
                about=result.about,
                message=result.message,
                count=result.count,
                where=result.where,
                waived_by=waiver.by,
                why=waiver.why,
            )
    return result
