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
MOST_LISTED = 3  # checks that could not run; more are folded into one line


@dataclass(frozen=True, slots=True)
class Folded:
    """Checks that could not run, as one line.

    Attributes
    ----------
    checks
        All of them.
    open
        Whether they are listed below the line.
    """

    checks: tuple[NotRun, ...]
    open: bool

    @property
    def reasons(self) -> list[tuple[str, list[str]]]:
        """Each reason with the checks that have it, the most frequent one first."""
        found: dict[str, list[str]] = {}
        for one in self.checks:
            found.setdefault(one.reason, []).append(one.id)
        return sorted(found.items(), key=lambda item: -len(item[1]))


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
    of: Finding | NotRun | Folded

    @property
    def texts(self) -> tuple[str, str, str, str, str]:
        """The cells, from left to right."""
        severity = f"{SHAPES[self.group]} {self.group}"
        return severity, self.id, self.who, self.place, self.evidence


def rows_of(
    audit: Audit | None, groups: Iterable[Group] = GROUPS, *, unfolded: bool = True
) -> list[Row]:
    """The rows of these groups; many checks that could not run are below one line."""
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
        many = len(audit.not_run) > MOST_LISTED
        if many:
            rows.append(_folded(Folded(tuple(audit.not_run), unfolded)))
        if unfolded or not many:
            rows += [
                Row("not run", n.id, "", NOTHING_KNOWN, n.reason, (), None, n)
                for n in audit.not_run
            ]
    return rows


def _folded(line: Folded) -> Row:
    arrow = "▾" if line.open else "▸"
    name = f"{arrow} {len(line.checks)} checks"
    reasons = line.reasons
    text = reasons[0][0]
    if len(reasons) > 1:
        text += f" ({len(reasons[0][1])}), and other reasons"
    return Row("not run", name, "", NOTHING_KNOWN, text, (), None, line)


def counts(audit: Audit | None) -> dict[Group, int]:
    """How many rows each group has."""
    found = dict.fromkeys(GROUPS, 0)
    if audit is not None:
        for finding in audit.findings:
            found[finding.severity] += 1
        found["not run"] = len(audit.not_run)
    return found
