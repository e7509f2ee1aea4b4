"""The rows of the findings' table: what was found, then what nobody could look for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from isoscope.core.isolation.findings import SEVERITIES, Finding, NotRun
from isoscope.widgets.findings.texts import (
    NOTHING_KNOWN,
    envs_of,
    envs_text,
    evidence_line,
    place_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoscope.core.isolation.findings import Audit

Group: TypeAlias = Literal["error", "warning", "note", "not run"]
GROUPS: tuple[Group, ...] = (*SEVERITIES, "not run")
# Told by shape and word as well as by colour.
SHAPES: dict[Group, str] = {"error": "▲", "warning": "●", "note": "○", "not run": "–"}


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table.

    Attributes
    ----------
    group
        Its severity, or that the check could not run.
    id
        Of the check.
    who, place, evidence
        The other cells.
    envs
        The environments that `who` names, in the order of its chips.
    at
        Its place among the findings; None for a check that could not run.
    of
        What the row is of.
    """

    group: Group
    id: str
    who: str
    place: str
    evidence: str
    envs: tuple[int, ...]
    at: int | None
    of: Finding | NotRun

    @property
    def texts(self) -> tuple[str, str, str, str, str]:
        """The cells, from left to right."""
        severity = f"{SHAPES[self.group]} {self.group}"
        return severity, self.id, self.who, self.place, self.evidence


def rows_of(audit: Audit | None, groups: Iterable[Group] = GROUPS) -> list[Row]:
    """The rows of these groups."""
    if audit is None:
        return []
    wanted = set(groups)
    rows = [
        Row(
            finding.severity,
            finding.id,
            envs_text(finding),
            place_of(finding),
            evidence_line(finding),
            envs_of(finding),
            at,
            finding,
        )
        for at, finding in enumerate(audit.findings)
        if finding.severity in wanted
    ]
    if "not run" in wanted:
        rows += [
            Row("not run", n.id, "", NOTHING_KNOWN, n.reason, (), None, n)
            for n in audit.not_run
        ]
    return rows


def counts(audit: Audit | None) -> dict[Group, int]:
    """How many rows each group has."""
    found = dict.fromkeys(GROUPS, 0)
    if audit is not None:
        for finding in audit.findings:
            found[finding.severity] += 1
        found["not run"] = len(audit.not_run)
    return found
