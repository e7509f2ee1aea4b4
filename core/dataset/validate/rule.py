"""What a rule is: it sees every value of every episode once, in windows, in order.

For each episode `take` is called with the windows of each feature from its beginning
to its end, feature by feature, and then `end`. Nothing is kept that grows with the data
but the places of failures, and of these only the first ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.dataset.model import Episode, Episodes, Feature
    from isoscope.core.isolation.findings import Audit
    from isoscope.core.recording.tracks import Array

Severity: TypeAlias = Literal["error", "warning"]
KEPT_PLACES = 20


class Where(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A place where a rule fails.

    Attributes
    ----------
    step
        Row of the feature within its episode, from 0: control step `step` + 1, or of an
        observation the boundary before that.
    """

    episode: str | None = None
    env: int | None = None
    step: int | None = None
    feature: str | None = None
    component: int | None = None
    value: Any = None
    expected: Any = None


@dataclass(frozen=True, slots=True)
class Subject:
    """What is validated.

    Attributes
    ----------
    audit
        Of the recording that the episodes come from; None where there is none.
    """

    episodes: Episodes
    audit: Audit | None = None


class NotCheckableError(Exception):
    """The source lacks what a rule needs; its text says what, and is told."""


@dataclass(slots=True)
class Outcome:
    """What a rule found: how often it failed, where at first, in which words."""

    message: str = ""
    count: int = 0
    where: list[Where] = field(default_factory=list)

    def fail(self, where: Where, count: int = 1) -> None:
        """Count a failure, and keep its place while there are few."""
        self.count += count
        if len(self.where) < KEPT_PLACES:
            self.where.append(where)


class Rule(Protocol):
    """One rule, made anew for each validation."""

    ID: str
    SEVERITY: Severity
    ABOUT: str

    def begin(self, subject: Subject) -> None:
        """Look at what is declared.

        Raises
        ------
        NotCheckableError
            If the source lacks what it needs.
        """
        ...

    def take(
        self, episode: Episode, feature: Feature, start: int, values: Array
    ) -> None:
        """See rows start .. start + len(values) of a feature of an episode."""
        ...

    def end(self, episode: Episode, rows: Mapping[str, int]) -> None:
        """See that an episode is over, and how many rows each feature had.

        A feature that could not be read to its end is not among them.
        """
        ...

    def finish(self) -> Outcome:
        """Say what was found."""
        ...


class Quiet:
    """A rule that looks at nothing yet; others override what they need."""

    def __init__(self) -> None:
        self.outcome = Outcome()

    def begin(self, subject: Subject) -> None:
        """Look at what is declared."""

    def take(
        self, episode: Episode, feature: Feature, start: int, values: Array
    ) -> None:
        """See a window of values."""

    def end(self, episode: Episode, rows: Mapping[str, int]) -> None:
        """See that an episode is over."""

    def finish(self) -> Outcome:
        """Say what was found."""
        return self.outcome
