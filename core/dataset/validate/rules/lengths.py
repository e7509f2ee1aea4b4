"""An episode of T control steps has T rows a step's feature, T + 1 a boundary's.

Observations may come N for N actions (each before its step, the final one unknown), or
N + 1 (the final one, too). Anything else is an error that is named, never cut to fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.dataset.validate.rule import Quiet, Subject, Where

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.dataset.model import Episode
    from isoscope.core.dataset.validate.rule import Outcome, Severity


class LengthsRule(Quiet):
    """See the module's docstring."""

    ID = "lengths"
    SEVERITY: Severity = "error"
    ABOUT = "as many rows as an episode has control steps, and how they lie to them"

    def begin(self, subject: Subject) -> None:
        """Remember what goes with steps and what with boundaries."""
        self._features = {f.name: f for f in subject.episodes.features}
        self._seen: dict[str, int] = {}
        for one in getattr(subject.episodes, "unfit", ()):
            # The reader can't give its rows, and leaving it out would hide them.
            self.outcome.fail(
                Where(
                    episode=one.episode,
                    feature=one.name,
                    value=f"{one.rows} rows: {alignment(one.rows, one.steps)}",
                    expected=f"{one.steps} or {one.steps + 1}",
                )
            )

    def end(self, episode: Episode, rows: Mapping[str, int]) -> None:
        """Compare numbers of rows."""
        if episode.length < 1:
            self.outcome.fail(Where(episode=episode.id, value=0, expected="1 or more"))
        for name, count in rows.items():
            feature = self._features[name]
            boundary = feature.per == "boundary"
            expected = episode.length + (boundary and episode.final)
            if boundary:
                how = "pre-step + final" if episode.final else "pre-step"
                self._seen[how] = self._seen.get(how, 0) + 1
            elif feature.role == "observation":
                how = alignment(0, 0)
                self._seen[how] = self._seen.get(how, 0) + 1
            if count != expected:
                self.outcome.fail(
                    Where(
                        episode=episode.id,
                        env=episode.env,
                        feature=name,
                        value=f"{count} rows: {alignment(count, episode.length)}",
                        expected=expected,
                    )
                )

    def finish(self) -> Outcome:
        """Say how observations lie to actions."""
        ways = ", ".join(f"{n} {how}" for how, n in self._seen.items())
        self.outcome.message = (
            "rows that belong to no control step, or control steps without a row"
            if self.outcome.count
            else f"observations: {ways}"
            if ways
            else ""
        )
        return self.outcome


def alignment(rows: int, steps: int) -> str:
    """Name how rows of observations may lie to the steps of an episode."""
    surplus = rows - steps
    if surplus == 1:
        return "pre-step + final"
    if surplus == 0:
        return "pre-step or post-step: which, is not told"
    if surplus == -1:
        return "ambiguous: one too few at the beginning or at the end"
    much = "more" if surplus > 0 else "fewer"
    return f"{abs(surplus)} {much} than there are control steps"
