"""What stands below the table: what the chosen row means, and what to do."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from isoscope.core.isolation.findings import Finding
from isoscope.widgets.findings.rows import Folded
from isoscope.widgets.findings.texts import (
    before_after,
    checks_listed,
    checks_text,
    facts,
)

if TYPE_CHECKING:
    from isoscope.core.analysis import Analysis
    from isoscope.core.isolation.findings import Audit, NotRun
    from isoscope.core.isolation.stretches import Stretch
    from isoscope.widgets.theme import Tokens


# How to give a check, in this window, what it needs.
HERE = {
    "hidden-leak": (
        "Here: open the twin as well, look at this recording, and choose “Use as "
        "independent twin” in the twin's menu in Sources. Or, of a recording with "
        "snapshots, choose “Step again alone”."
    )
}


def details_html(
    of: Finding | NotRun | Folded, t: Tokens, analysis: Analysis | None = None
) -> str:
    """What a row says in full, as rich text; with what it taints by the analysis."""
    if isinstance(of, Folded):
        do = "Click it to fold them." if of.open else "Click it to list them."
        head = f"{len(of.checks)} checks could not run here. {do}"
        told = [_paragraph(_why(*one), t.dim) for one in of.reasons]
        return _paragraph(head, t.text) + "".join(told)
    if not isinstance(of, Finding):
        said = f"{_sentence(of.reason)} It needs {of.needs}."
        return _paragraph(said, t.text) + _paragraph(HERE.get(of.id, ""), t.dim)
    parts = [_paragraph(_sentence(of.message), t.text)]
    changed = before_after(of)
    if changed is not None:
        parts.append(
            _table([("before", changed[0]), ("after", changed[1])], t.dim, t.text)
        )
    parts.append(_paragraph(f"<b>Remedy.</b> {escape(of.remedy)}", t.dim, plain=False))
    parts.append(_table(facts(of, _tainted(of, analysis)), t.dim, t.dim))
    return "".join(parts)


def quiet_html(audit: Audit, t: Tokens) -> str:
    """What is said where nothing was found."""
    head = _paragraph("No findings.", t.text)
    ran = f"{checks_text(audit)}. These looked and found nothing: "
    return head + _paragraph(ran + checks_listed(audit) + ".", t.dim)


def plain_text(of: Finding | NotRun | Folded, analysis: Analysis | None = None) -> str:
    """What a row says, to be copied."""
    if isinstance(of, Folded):
        return "\n".join(plain_text(one) for one in of.checks)
    if not isinstance(of, Finding):
        return f"{of.id} could not run: {of.reason}; it needs {of.needs}"
    lines = [f"{of.severity} {of.id}: {of.message}", of.remedy]
    lines += [f"{name}: {value}" for name, value in facts(of, _tainted(of, analysis))]
    return "\n".join(lines)


def _tainted(of: Finding, analysis: Analysis | None) -> tuple[Stretch, ...]:
    return () if analysis is None else analysis.tainted_by(of)


def _why(reason: str, checks: list[str]) -> str:
    return f"{_sentence(reason)} So these did not look: {', '.join(checks)}."


def _sentence(text: str) -> str:
    end = "" if text.endswith((".", "!", "?")) else "."
    return text[:1].upper() + text[1:] + end


def _paragraph(text: str, colour: str, *, plain: bool = True) -> str:
    body = escape(text) if plain else text
    return f'<p style="margin:0 0 6px 0;color:{colour}">{body}</p>'


def _table(rows: list[tuple[str, str]], name: str, value: str) -> str:
    cells = "".join(
        f'<tr><td style="color:{name};padding-right:12px">{escape(k)}</td>'
        f'<td style="color:{value}">{escape(v)}</td></tr>'
        for k, v in rows
    )
    return f'<table style="margin-bottom:6px">{cells}</table>' if rows else ""
