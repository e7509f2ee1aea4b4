"""An audit as one page to look at: no other file, no script, light and dark."""

from __future__ import annotations

import re
import shlex
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from isoscope.app.reports.page import Row, page, table
from isoscope.app.reports.svg import legend, svg
from isoscope.core.isolation.words import place_text
from isoscope.core.summary import counted

if TYPE_CHECKING:
    from isoscope.app.reports.evidence.plot import Plot
    from isoscope.app.reports.report import FileReport
    from isoscope.core.isolation.findings import Audit, Finding, NotRun
    from isoscope.core.isolation.stretches import Stretch

LISTED_AT_MOST = 200  # findings of one file that are shown; the rest is counted
RANGES_AT_MOST = 12
FOLDED_FROM = 4  # checks that lack something for one and the same reason
NUMBERS_AT_MOST = 24


def html_report(reports: list[FileReport], unread: dict[str, str]) -> str:
    """The page, for files that were audited and files that could not be read."""
    title = "Isoscope audit"
    if len(reports) == 1 and not unread:
        title = f"Isoscope audit of {Path(reports[0].file).name}"
    body = [f"<h1>{escape(title)}</h1>"]
    if len(reports) + len(unread) > 1:
        body.append(_contents(reports, unread))
    body += [_file(report, number) for number, report in enumerate(reports)]
    body += [_unread(path, why) for path, why in unread.items()]
    return page(title, body)


def _contents(reports: list[FileReport], unread: dict[str, str]) -> str:
    items = [
        f'<li><a href="#file-{number}">{escape(Path(report.file).name)}</a> '
        f'<span class="dim">{escape(_counts(report.audit))}</span></li>'
        for number, report in enumerate(reports)
    ]
    items += [
        f'<li>{escape(Path(path).name)} <span class="dim">could not be read</span></li>'
        for path in unread
    ]
    return f"<nav><ul>{''.join(items)}</ul></nav>"


def _counts(audit: Audit) -> str:
    parts = [
        counted(number, severity)
        for severity in ("error", "warning", "note")
        if (number := sum(f.severity == severity for f in audit.findings))
    ]
    return ", ".join(parts) or "no finding"


def _file(report: FileReport, number: int) -> str:
    audit = report.audit
    parts = [
        f'<section class="file" id="file-{number}">',
        f"<header><h2>{_kept_together(escape(report.sentence))}</h2>"
        f"<p>{escape(report.summary)}</p>"
        f'<p class="path mono">{escape(report.file)}</p></header>',
        "<h3>Findings</h3>",
    ]
    shown = audit.findings[:LISTED_AT_MOST]
    for k, finding in enumerate(shown):
        tainted = report.tainted[k] if k < len(report.tainted) else ()
        parts.append(_finding(finding, report.plots.get(k), tainted))
    if not shown:
        parts.append('<p class="clean">Nothing was found.</p>')
    found = sum(check.found for check in audit.checks)
    if found > len(shown):
        more = counted(found - len(shown), "more finding")
        parts.append(f"<p>{more}: <code>isoscope audit --json</code> lists them.</p>")
    if audit.not_run:
        parts.append("<h3>What could not be checked, and what to record</h3>")
        parts += _not_run(audit.not_run)
    parts += [_checks(audit), _reproduce(report), "</section>"]
    return "\n".join(parts)


def _not_run(not_run: list[NotRun]) -> list[str]:
    """The checks that lack something; many of one reason are folded."""
    by_reason: dict[str, list[NotRun]] = {}
    for one in not_run:
        by_reason.setdefault(one.reason, []).append(one)
    alone: list[Row] = []
    folded = []
    for reason, same in by_reason.items():
        if len(same) < FOLDED_FROM:
            alone += [(one.id, one.reason, one.needs) for one in same]
            continue
        said = f"{counted(len(same), 'check')}: {escape(reason)}"
        rows: list[Row] = [(one.id, one.needs) for one in same]
        listed = table(("check", "needs"), rows)
        folded.append(f"<details><summary>{said}</summary>{listed}</details>")
    head = ("check", "why not", "needs")
    return [*([table(head, alone)] if alone else []), *folded]


def _kept_together(sentence: str) -> str:
    """Keep a number and what it counts on one line."""
    return re.sub(
        r"(\d) (?=(error|warning|note|episode|substep)s?\b)", r"\1&nbsp;", sentence
    )


def _finding(
    finding: Finding, plot: Plot | None, tainted: tuple[Stretch, ...] = ()
) -> str:
    headline = finding.headline or finding.message
    rest = finding.message
    if rest.startswith(headline):
        rest = rest[len(headline) :].lstrip(":; ")
    if not rest.startswith(("nan", "inf", "-")):
        rest = rest[:1].upper() + rest[1:]
    parts = [
        f'<article class="finding {finding.severity}"><header>'
        f'<span class="tag">{finding.severity}</span>'
        f"<h4>{escape(headline[:1].upper() + headline[1:])}</h4>"
        f'<span class="where">{escape(finding.id)}</span></header>'
    ]
    if rest:
        parts.append(f"<p>{escape(rest)}</p>")
    if plot is not None:
        parts.append(
            f"<figure>{svg(plot)}<figcaption>{legend(plot)}</figcaption></figure>"
        )
    parts.append(f'<p class="remedy"><b>What to do:</b> {escape(finding.remedy)}</p>')
    rows = _evidence(finding, tainted)
    if rows:
        parts.append(f"<details><summary>Evidence</summary>{table((), rows)}</details>")
    parts.append("</article>")
    return "".join(parts)


def _evidence(finding: Finding, tainted: tuple[Stretch, ...]) -> list[Row]:
    rows: list[Row] = []
    if finding.native is not None:
        rows.append(("native steps", _range(finding.native)))
    for name, value in (
        ("field", finding.field),
        ("value", finding.value),
        ("expected", finding.expected),
    ):
        if value is not None:
            rows.append((name, _value(value)))
    for a in finding.affected:
        place = place_text(a.episode, a.control_step)
        rows.append((f"env {a.env} affected from", f"{place} (native step {a.native})"))
    if tainted:
        ranges = [
            _range((low, high)) + ("" if env is None else f" of env {env}")
            for low, high, env in tainted[:RANGES_AT_MOST]
        ]
        if len(tainted) > RANGES_AT_MOST:
            ranges.append(f"{len(tainted) - RANGES_AT_MOST} more ranges")
        rows.append(("tainted native steps", ", ".join(ranges)))
    rows += [
        (name.replace("_", " "), _value(value))
        for name, value in finding.evidence.items()
        if value is not None
    ]
    if finding.confidence < 1:
        rows.append(("confidence", f"{finding.confidence:.4g}"))
    return rows


def _range(native: tuple[int, int]) -> str:
    first, last = native
    return f"{first:,}" if first == last else f"{first:,} to {last:,}"


def _value(value: object) -> str:
    if isinstance(value, list | tuple):
        shown = [_value(one) for one in value[:NUMBERS_AT_MOST]]
        if len(value) > len(shown):
            shown.append(f"{len(value) - len(shown)} more")
        return f"({', '.join(shown)})" if shown else "none"
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def _checks(audit: Audit) -> str:
    from isoscope.core.isolation.registry import all_checks

    about = {key: check.ABOUT for key, check in all_checks().items()}
    rows: list[Row] = [
        (
            check.id,
            counted(check.found, "finding") if check.ran else "could not run",
            about.get(check.id, ""),
        )
        for check in audit.checks
    ]
    ran = sum(check.ran for check in audit.checks)
    summary = f"Checks: {ran} of {len(audit.checks)} ran"
    listed = table(("check", "found", "looks for"), rows)
    return f"<details><summary>{summary}</summary>{listed}</details>"


def _reproduce(report: FileReport) -> str:
    command = ["isoscope", "audit", report.file]
    if report.reference is not None:
        command += ["--reference", report.reference]
    rows: list[Row] = [*report.facts]
    return (
        "<h3>How to reproduce</h3>"
        f"<p><code>{escape(shlex.join(command))}</code></p>"
        f"<details><summary>The file, and whose its steps were</summary>"
        f"{table((), rows)}</details>"
    )


def _unread(path: str, why: str) -> str:
    return (
        '<section class="file"><header>'
        f"<h2>{escape(Path(path).name)} could not be read.</h2>"
        f"<p>{escape(why)}</p></header></section>"
    )
