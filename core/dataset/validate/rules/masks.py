"""Masks mark what they may: leading slots, rows that count, episodes held back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.dataset.validate.rule import NotCheckableError, Quiet, Where
from isoscope.core.summary import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoscope.core.dataset.model import Episode, Feature
    from isoscope.core.dataset.validate.rule import Outcome, Severity, Subject
    from isoscope.core.recording.tracks import Array

OTHERS = ("loss_mask", "loss_mask_sum")  # a rule of their own


def is_mask(feature: Feature) -> bool:
    """Whether a column says which of its slots or rows count."""
    name = feature.name.replace("/", ".").split(".")[-1]
    return name not in OTHERS and (name in ("valid", "mask") or name.endswith("_mask"))


def _held_back(split: str) -> bool:
    return bool(re.search(r"(^|[^a-z])(valid|val|validation|test)($|[^a-z])", split))


class MasksRule(Quiet):
    """A mask over slots is True, then False; one over rows is True.

    What is held back, in a split called valid, val or test, is in none for training;
    other splits may overlap, such as robomimic's ``20_percent``.
    """

    ID = "masks"
    SEVERITY: Severity = "error"
    ABOUT = "masks mark leading slots, and rows that count; what is held back is apart"

    def begin(self, subject: Subject) -> None:
        """Find masks and splits."""
        source = subject.episodes
        self._masks = {f.name for f in source.features if is_mask(f)}
        splits: Mapping[str, Sequence[int]] = getattr(source, "splits", None) or {}
        if not self._masks and not splits:
            raise NotCheckableError("there are neither masks nor splits")
        trained: dict[int, str] = {}
        for name, places in splits.items():
            if any(not 0 <= place < len(source.episodes) for place in places):
                said = f"split {name} has episodes that are not there"
                self.outcome.fail(Where(value=said))
            if "train" in name.lower() and not _held_back(name):
                trained.update(dict.fromkeys(places, name))
        for name, places in splits.items():
            for place in places if _held_back(name) else ():
                if place in trained:
                    self.outcome.fail(
                        Where(
                            episode=source.episodes[place].id,
                            value=f"in the splits {trained[place]} and {name}",
                            expected="one of them",
                        )
                    )

    def take(
        self, episode: Episode, feature: Feature, start: int, values: Array
    ) -> None:
        """Look for what a mask can't say."""
        if feature.name not in self._masks or not len(values):
            return
        flat = values.reshape(len(values), -1)
        on = flat.astype(np.bool_)
        if ((flat != 0) & (flat != 1)).any():
            self._fail(episode, feature, start, (flat != 0) & (flat != 1), "0 or 1")
        if on.shape[1] == 1:
            expected = "a row that counts: others are no transitions"
            self._fail(episode, feature, start, ~on, expected)
            return
        gap = ~on
        gap[:, 1:] = on[:, 1:] & ~on[:, :-1]
        self._fail(episode, feature, start, gap, "True in leading slots, one at least")

    def _fail(
        self,
        episode: Episode,
        feature: Feature,
        start: int,
        wrong: Array,
        expected: str,
    ) -> None:
        rows = np.flatnonzero(wrong.any(axis=1))
        if len(rows):
            self.outcome.fail(
                Where(
                    episode=episode.id,
                    env=episode.env,
                    step=start + int(rows[0]),
                    feature=feature.name,
                    component=int(np.flatnonzero(wrong[rows[0]])[0]),
                    expected=expected,
                ),
                count=len(rows),
            )

    def finish(self) -> Outcome:
        """Count."""
        if self.outcome.count:
            places = counted(self.outcome.count, "place")
            self.outcome.message = f"{places} where a mask or split can't be meant so"
        return self.outcome
