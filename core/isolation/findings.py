"""What the audit says: findings, and the checks that could not run.

The written form is ``isoscope.audit/1``. Native steps, environments and substeps count
from 0, episodes and control steps from 1, and a reset's own step is control step 0.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


class Affected(msgspec.Struct, frozen=True, kw_only=True):
    """An environment that something reached, and the first step at which it did."""

    env: int
    episode: int | None
    control_step: int | None
    native: int


class Taint(msgspec.Struct, frozen=True, kw_only=True):
    """What of one environment can't be trusted because of a finding.

    `isoscope.core.isolation.tainting.tainted` works out the rows and transitions.

    Attributes
    ----------
    env
        Whose; None for whosever the rows are.
    native
        The first native step, and the last one where it is known. None where only
        transitions are touched, and no native step is wrong.
    transition
        The same in the table of transitions, for what no native step shows. Those that
        took a tainted native step are tainted anyhow.
    until
        Where it ends if the last one is not given: right ``"here"``, before the next
        ``"reset"`` of the environment, or only at the ``"end"`` of the recording.
    between
        Whether it happened before the first native step, so that all is well again if
        the environment's next step is a reset's.
    """

    env: int | None = None
    native: tuple[int, int | None] | None = None
    transition: tuple[int, int | None] | None = None
    until: Literal["here", "reset", "end"] = "reset"
    between: bool = False


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Something wrong or doubtful: where, on what evidence, and what to do.

    Attributes
    ----------
    id
        The check's id.
    env
        The environment it is about: the one that did it, where that is known.
    other_env
        The other one: whose state was taken, or who was reached first.
    episode, control_step
        Of `env`, at the first native step of `native`.
    native
        First and last row, inclusive; None where it has no place.
    field
        ``actor.field`` or the step's own field.
    value, expected
        What is there, and what should be, as plain numbers or lists of them.
    confidence
        0 to 1; 1 where nothing was inferred.
    headline
        What happened, as a clause; the message begins with it.
    message, remedy
        What it means and what to do; a line each.
    evidence
        Further numbers by name, units in the names.
    tainted
        Row ranges [first, last] whose data can't be trusted because of it.
    file
        The recording that it is about.
    affected
        Environments that it reached, in the order of their first step under it.
    transition
        The first transition that it is about, by its number in a labelled recording.
    taints
        What can't be trusted because of it, environment by environment.
    """

    id: str
    severity: Severity
    message: str
    remedy: str
    headline: str = ""
    env: int | None = None
    other_env: int | None = None
    episode: int | None = None
    control_step: int | None = None
    native: tuple[int, int] | None = None
    field: str | None = None
    value: Any = None
    expected: Any = None
    confidence: float = 1.0
    evidence: dict[str, Any] = {}
    tainted: tuple[tuple[int, int], ...] = ()
    file: str | None = None
    affected: tuple[Affected, ...] = ()
    transition: int | None = None
    taints: tuple[Taint, ...] = ()


class NotRun(msgspec.Struct, frozen=True, kw_only=True):
    """A check that had nothing to work on: why, and what to record so that it has."""

    id: str
    reason: str
    needs: str
    file: str | None = None


class CheckRan(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a check ran, and how many findings it has, listed or not."""

    id: str
    ran: bool
    found: int = 0


class Audit(msgspec.Struct, frozen=True, kw_only=True, rename={"schema_": "schema"}):
    """What one audit says; the written form is ``isoscope.audit/1``."""

    schema_: Literal["isoscope.audit/1"] = "isoscope.audit/1"
    files: list[str]
    findings: list[Finding]
    not_run: list[NotRun]
    checks: list[CheckRan]

    def count(self, severity: Severity) -> int:
        """How many findings are of this severity."""
        return sum(finding.severity == severity for finding in self.findings)


def worst_first(findings: list[Finding]) -> list[Finding]:
    """Sort by severity, then by where they begin, then by id."""
    return sorted(
        findings,
        key=lambda f: (
            SEVERITIES.index(f.severity),
            f.native[0] if f.native else -1,
            f.id,
        ),
    )
