"""All values can be read; what can't is told with its place, and the rest is checked.

Whoever passes over the values tells this rule, which sees none of them itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.dataset.validate.rule import Quiet, Where

if TYPE_CHECKING:
    from isoscope.core.dataset.model import Episode
    from isoscope.core.dataset.validate.rule import Outcome, Severity
    from isoscope.core.errors import ReadError

MOST_PARTS = 1000  # that can't be read; of more nothing is learned, and it takes long


class ReadableRule(Quiet):
    """See the module's docstring."""

    ID = "readable"
    SEVERITY: Severity = "error"
    ABOUT = "every value of every episode can be read"

    def missed(self, episode: Episode, feature: str | None, error: ReadError) -> None:
        """A feature of an episode can't be read, or what belongs to all of it.

        Raises
        ------
        ReadError
            The one given, if there were too many.
        """
        if self.outcome.count >= MOST_PARTS:
            raise error
        self.outcome.fail(
            Where(
                episode=episode.id,
                env=episode.env,
                feature=feature,
                value=str(error),
            )
        )

    def finish(self) -> Outcome:
        """Say what that means."""
        if self.outcome.count:
            many = self.outcome.count != 1
            self.outcome.message = (
                f"{self.outcome.count} part{'s' if many else ''} of the data can't be "
                "read: damaged, or not as the rest says; only the rest was checked"
            )
        return self.outcome
