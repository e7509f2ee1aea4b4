"""The written form of a validation, ``isoscope.validate/1``."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

# msgspec needs them when it runs
from isoscope.core.dataset.validate.rule import Severity, Where  # noqa: TC001

SCHEMA: Literal["isoscope.validate/1"] = "isoscope.validate/1"
Answer: TypeAlias = Literal["passed", "failed", "waived", "not_checkable"]


class Waiver(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody takes it upon them that a rule fails; travels with the data."""

    rule: str
    by: str
    why: str


class RuleResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one rule says.

    Attributes
    ----------
    count
        How often it failed; `where` has the first places.
    """

    id: str
    answer: Answer
    severity: Severity
    about: str
    message: str = ""
    count: int = 0
    where: list[Where] = []
    waived_by: str | None = None
    why: str | None = None

    @property
    def blocks(self) -> bool:
        """Whether nothing may be exported because of it."""
        return self.answer == "failed" and self.severity == "error"


class EpisodeLine(msgspec.Struct, frozen=True, kw_only=True):
    """An episode in a report.

    Attributes
    ----------
    return_
        Σ r, None where there is no reward.
    return_s
        H · Σ r, to compare where control frequencies differ; None where H is unknown.
    """

    id: str
    env: int | None
    length: int
    terminated: bool | None
    truncated: bool | None
    complete: bool
    return_: float | None = msgspec.field(name="return", default=None)
    return_s: float | None = None


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A validation."""

    schema: Literal["isoscope.validate/1"] = SCHEMA
    source: str
    rules: list[RuleResult]
    blocking: bool
    transitions: int
    episodes: list[EpisodeLine]
    dropped: list[dict[str, Any]] = []

    @property
    def failed(self) -> list[RuleResult]:
        """Rules that failed and are not waived, errors first."""
        found = [rule for rule in self.rules if rule.answer == "failed"]
        return sorted(found, key=lambda rule: rule.severity != "error")
