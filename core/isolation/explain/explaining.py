"""Explains an id or a symptom, with what the checks found in a recording, if any."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from isoscope.core.errors import UsageError
from isoscope.core.isolation.explain.errors import ERRORS
from isoscope.core.isolation.explain.explanation import Explanation
from isoscope.core.isolation.explain.others import OTHERS
from isoscope.core.isolation.explain.symptoms import BY_KEY, SYMPTOMS, Symptom
from isoscope.core.isolation.ids import SEVERITIES
from isoscope.core.isolation.registry import all_checks

if TYPE_CHECKING:
    from isoscope.core.isolation.findings import Audit, Finding, NotRun

EXPLANATIONS: dict[str, Explanation] = ERRORS | OTHERS
State = Literal["found", "clean", "not_run", "not_asked"]


class ExplainedCheck(msgspec.Struct, frozen=True):
    """One check: what it means, and what it found in the recording.

    Attributes
    ----------
    state
        ``not_asked`` where no recording was given.
    found
        How many findings there are, listed or not.
    """

    id: str
    severity: str
    about: str
    means: str
    comes_about: str
    do: str
    needs: str
    state: State = "not_asked"
    found: int = 0
    findings: list[Finding] = []
    not_run: NotRun | None = None


class Explained(
    msgspec.Struct, frozen=True, kw_only=True, rename={"schema_": "schema"}
):
    """The written form ``isoscope.explain/1``."""

    schema_: Literal["isoscope.explain/1"] = "isoscope.explain/1"
    asked: str
    symptom: str | None
    checks: list[ExplainedCheck]
    record: str | None = None
    file: str | None = None


def explain(asked: str, audit: Audit | None = None) -> Explained:
    """Explain an id or a symptom.

    Parameters
    ----------
    asked
        An id, or a symptom's key or text, or a part of it that only one has.
    audit
        Of the recording that it is asked about.

    Raises
    ------
    UsageError
        If there is neither; the message lists both.
    """
    file = audit.files[0] if audit is not None and audit.files else None
    if asked in all_checks():
        one = [explained(asked, audit)]
        return Explained(asked=asked, symptom=None, checks=one, file=file)
    symptom = symptom_of(asked)
    checks = [explained(key, audit) for key in symptom.checks]
    return Explained(
        asked=symptom.key,
        symptom=symptom.text,
        checks=checks,
        record=symptom.record,
        file=file,
    )


def explained(key: str, audit: Audit | None = None) -> ExplainedCheck:
    """Explain one check; a user's own by what it says of itself."""
    check = all_checks()[key]
    text = EXPLANATIONS.get(key)
    if text is None:
        needs = str(getattr(check, "NEEDS", "")) or "what the check asks for"
        text = Explanation(check.ABOUT, "", "", needs)
    findings: list[Finding] = []
    not_run = None
    state: State = "not_asked"
    found = 0
    if audit is not None:
        findings = [f for f in audit.findings if f.id == key]
        not_run = next((n for n in audit.not_run if n.id == key), None)
        ran = [c for c in audit.checks if c.id == key]
        found = max([len(findings), *(c.found for c in ran)])
        state = "found" if found else "clean"
        if not found and not any(c.ran for c in ran):
            state = "not_run"
    return ExplainedCheck(
        id=key,
        severity=SEVERITIES.get(key, check.SEVERITY),
        about=check.ABOUT,
        means=text.means,
        comes_about=text.comes_about,
        do=text.do,
        needs=text.needs,
        state=state,
        found=found,
        findings=findings,
        not_run=not_run,
    )


def symptom_of(asked: str) -> Symptom:
    """Find a symptom by its key, its text, or a part of it that only one has.

    Raises
    ------
    UsageError
        If there is none, or several.
    """
    if asked in BY_KEY:
        return BY_KEY[asked]
    wanted = " ".join(asked.lower().replace("-", " ").split())
    hits = [s for s in SYMPTOMS if wanted and wanted in _plain(s)]
    if len(hits) == 1:
        return hits[0]
    several = f"{len(hits)} symptoms fit {asked!r}" if hits else ""
    listed = "; ".join(f"{s.key} ({s.text})" for s in hits or SYMPTOMS)
    told = several or f"{asked!r} is neither a check nor a symptom"
    known = "" if hits else f"; or a check: {', '.join(all_checks())}"
    raise UsageError(f"explaining: {told}; there is {listed}{known}")


def _plain(symptom: Symptom) -> str:
    return f"{symptom.key.replace('-', ' ')} | {symptom.text.lower()}"
