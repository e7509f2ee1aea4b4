"""A list of problems that stays short, whatever a file holds.

Messages that differ only in their numbers (addresses, lengths) count as one, and after
a few hundred kinds the rest is only counted: a damaged file with a million events has
a million things wrong with it, and nobody reads them one by one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from isoscope.core.errors import one_line
from isoscope.core.recording.model import Problem

if TYPE_CHECKING:
    from isoscope.core.recording.model import Severity

# What is said of a file whose writer lives; while that is watched it is no problem.
STILL_WRITTEN = "is still writing it: read as far as it is written"
MAX_KINDS = 200
MAX_CHARACTERS = 400
_DIGITS = re.compile(r"\d+")
_REST = "problems of other kinds"


class ProblemLog:
    """Adds to a recording's list of problems, grouping and bounding it.

    Parameters
    ----------
    problems
        The list to add to; what is in it already is grouped with.
    """

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        self._place: dict[tuple[str, str], int] = {}
        for place, problem in enumerate(problems):
            self._place.setdefault(self._key(problem.message, problem.severity), place)

    @staticmethod
    def _key(message: str, severity: str) -> tuple[str, str]:
        return severity, _DIGITS.sub("#", message)

    def tell(
        self,
        message: str,
        where: str = "",
        severity: Severity = "warning",
        count: int = 1,
    ) -> None:
        """List a problem; one like an earlier one only counts."""
        message = _short(message)
        key = self._key(message, severity)
        place = self._place.get(key)
        if place is None and len(self.problems) >= MAX_KINDS:
            message, where = _REST, ""
            key = self._key(message, severity)
            place = self._place.get(key)
        if place is None:
            self._place[key] = len(self.problems)
            self.problems.append(Problem(message, _short(where), count, severity))
            return
        old = self.problems[place]
        self.problems[place] = Problem(
            old.message, old.where, old.count + count, old.severity
        )


def _short(text: str) -> str:
    line = one_line(text)
    if len(line) <= MAX_CHARACTERS:
        return line
    return f"{line[: MAX_CHARACTERS - 1]}…"
