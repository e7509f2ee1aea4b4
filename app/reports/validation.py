"""A validation as one page to look at: what fails and where, and every episode."""

from __future__ import annotations

import math
import shlex
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from isoscope.app.reports.page import Row, page, table
from isoscope.app.reports.validation_words import ended, sentence_of
from isoscope.core.dataset.validate.words import number, told, value_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.dataset.validate.report import EpisodeLine, Report, RuleResult
    from isoscope.core.dataset.validate.rule import Where

EPISODES_LISTED = 200
BARS = 400  # episodes that one picture shows
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 760, 170, 76, 12, 24
WIDEST = 28  # pixels of an episode's bar
NAMES = {
    "passed": "passed",
    "failed": "failed",
    "waived": "waived",
    "not_checkable": "not checkable",
}


def validation_page(report: Report, command: Sequence[str] = ()) -> str:
    """The page of a validation; `command` is what made it."""
    title = f"Isoscope validation of {Path(report.source).name}"
    failed = report.failed
    waived = [rule for rule in report.rules if rule.answer == "waived"]
    body = [
        f"<h1>{escape(title)}</h1>",
        '<section class="file">',
        f"<header><h2>{escape(sentence_of(report))}</h2>"
        f'<p class="path mono">{escape(report.source)}</p></header>',
        "<h3>What failed</h3>",
        *[_failure(rule) for rule in failed],
    ]
    if not failed:
        body.append('<p class="clean">No rule failed.</p>')
    if waived:
        body += ["<h3>Waived</h3>", *[_failure(rule) for rule in waived]]
    body += ["<h3>All rules</h3>", _rules(report), "<h3>Episodes</h3>"]
    body += _plots(report)
    body.append(_episodes(report))
    if report.dropped:
        body.append("<h3>Rows that are no transitions</h3>")
        rows: list[Row] = [(f"{d['count']:,}", str(d["why"])) for d in report.dropped]
        body.append(table(("rows", "left out because"), rows))
    again = shlex.join(command or ["isoscope", "validate", report.source])
    body += [
        "<h3>How to reproduce</h3>",
        f"<p><code>{escape(again)}</code></p>",
        "</section>",
    ]
    return page(title, body)


def _failure(rule: RuleResult) -> str:
    tone = rule.severity if rule.answer == "failed" else "note"
    tag = rule.severity if rule.answer == "failed" else "waived"
    said = rule.message or rule.about
    parts = [
        f'<article class="finding {tone}"><header><span class="tag">{tag}</span>'
        f"<h4>{escape(said[:1].upper() + said[1:])}</h4>"
        f'<span class="where">{escape(rule.id)}</span></header>'
    ]
    if rule.answer == "waived":
        who, why = escape(rule.waived_by or "unknown"), escape(rule.why or "")
        parts.append(f"<p><b>Waived by {who}:</b> {why}</p>")
    if rule.where:
        head, rows = _told([_place(where) for where in rule.where])
        more = rule.count - len(rule.where)
        summary = f"Where: {rule.count:,} times" if rule.count > 1 else "Where"
        if more > 0:
            summary += f", the first {len(rows)}"
        parts.append(f'<details open=""><summary>{summary}</summary>')
        parts.append(f"{table(head, rows)}</details>")
    parts.append("</article>")
    return "".join(parts)


def _told(rows: list[Row]) -> tuple[Row, list[Row]]:
    """The heading and the rows without columns that nothing is in."""
    head = ("episode", "env", "row", "feature", "value", "expected")
    kept = [k for k in range(len(head)) if any(row[k] for row in rows)]
    return (
        tuple(head[k] for k in kept),
        [tuple(row[k] for k in kept) for row in rows],
    )


def _place(where: Where) -> Row:
    inside = "" if where.component is None else f"[{where.component}]"
    return (
        where.episode or "",
        "" if where.env is None else str(where.env),
        "" if where.step is None else f"{where.step:,}",
        f"{where.feature or ''}{inside}",
        "" if where.value is None else value_text(where.value),
        "" if where.expected is None else value_text(where.expected),
    )


def _rules(report: Report) -> str:
    rows: list[Row] = []
    for rule in report.rules:
        answer = NAMES[rule.answer]
        if rule.answer == "failed":
            answer += f" ({rule.severity})"
        count = f"{rule.count:,}" if rule.count else ""
        rows.append((rule.id, answer, count, told(rule)))
    return table(("rule", "answer", "times", "what"), rows)


def _episodes(report: Report) -> str:
    rows: list[Row] = [
        (
            line.id,
            "" if line.env is None else str(line.env),
            f"{line.length:,}",
            ended(line),
            "" if line.return_ is None else number(line.return_),
            "" if line.return_s is None else number(line.return_s),
        )
        for line in report.episodes[:EPISODES_LISTED]
    ]
    head = ("episode", "env", "length", "ended", "return", "H · Σ r")
    rest = len(report.episodes) - len(rows)
    more = f"<p>and {rest:,} more: isoscope validate --json lists them.</p>"
    return (
        f"<details><summary>{len(report.episodes):,} episodes</summary>"
        f"{table(head, rows)}{more if rest else ''}</details>"
    )


# -- pictures --------------------------------------------------------------------------


def _plots(report: Report) -> list[str]:
    lines = report.episodes[:BARS]
    if not lines:
        return []
    shown: list[tuple[str, list[float | None]]] = [
        ("length", [float(line.length) for line in lines]),
        ("return", [line.return_ for line in lines]),
    ]
    out = []
    for name, values in shown:
        if any(v is not None and math.isfinite(v) for v in values):
            out.append(_bars(name, values, lines))
    if len(report.episodes) > BARS:
        out.append(f'<p class="dim">The first {BARS:,} episodes.</p>')
    return out


def _bars(name: str, values: list[float | None], lines: list[EpisodeLine]) -> str:
    """A bar an episode, in its environment's colour; what isn't finite has none."""
    known = [v for v in values if v is not None and math.isfinite(v)]
    low, high = min(0.0, *known), max(0.0, *known)
    high = high if high > low else low + 1.0
    tall = HEIGHT - TOP - BOTTOM
    wide = min((WIDTH - LEFT) / len(values), WIDEST)

    def y(value: float) -> float:
        return TOP + tall * (1 - (value - low) / (high - low))

    parts = [
        f'<figure><svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{name} by episode">'
    ]
    for at in dict.fromkeys((low, 0.0, high)):
        parts.append(
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH}" y1="{y(at):.1f}" '
            f'y2="{y(at):.1f}"/><text x="{LEFT - 8}" y="{y(at) + 4:.1f}" '
            f'text-anchor="end">{number(at)}</text>'
        )
    for at, (value, line) in enumerate(zip(values, lines, strict=True)):
        if value is None or not math.isfinite(value):
            continue
        top, bottom = sorted((y(value), y(0.0)))
        colour = "env-none" if line.env is None else f"env-{line.env % 8}"
        said = f"{line.id}: {name} {number(value)}, {ended(line)}"
        parts.append(
            f'<rect class="{colour}" style="fill: var(--line)" '
            f'x="{LEFT + at * wide:.2f}" y="{top:.2f}" '
            f'width="{max(wide * 0.8, 0.5):.2f}" '
            f'height="{max(bottom - top, 0.75):.2f}"><title>{escape(said)}</title>'
            "</rect>"
        )
    coloured = any(line.env is not None for line in lines)
    parts.append(
        f'<text x="{LEFT}" y="{HEIGHT - 6}">{name} by episode'
        f"{', coloured by environment' if coloured else ''}</text></svg></figure>"
    )
    return "".join(parts)
