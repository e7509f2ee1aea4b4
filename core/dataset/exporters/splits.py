"""Train and valid: which episodes go where, by a seed."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from isoscope.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoscope.core.dataset.model import Episode

By = Literal["episode", "environment"]
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")


@dataclass(frozen=True, slots=True)
class Splits:
    """How to split.

    Attributes
    ----------
    fractions
        Share by name, such as ``{"train": 0.8, "valid": 0.2}``; together at most 1.
    by
        What stays together: an episode, or all of an environment.
    seed
        Of the shuffle.
    """

    fractions: Mapping[str, float] = field(default_factory=dict)
    by: By = "episode"
    seed: int = 0

    @classmethod
    def parse(cls, text: str, by: By = "episode", seed: int = 0) -> Splits:
        """Read ``train=0.8,valid=0.2``.

        Raises
        ------
        UsageError
            If it is of another form.
        """
        fractions: dict[str, float] = {}
        for part in text.split(","):
            name, _, share = part.strip().partition("=")
            try:
                value = float(share)
            except ValueError:
                value = math.nan
            if name in fractions or not math.isfinite(value):
                raise UsageError(
                    f"splitting: {text!r} is no list such as train=0.8,valid=0.2"
                )
            fractions[name] = value
        return cls(fractions, by, seed)


def split(episodes: Sequence[Episode], splits: Splits | None) -> dict[str, list[int]]:
    """Episodes' places by split, ascending; the same for the same seed.

    Raises
    ------
    UsageError
        If the shares make no sense, or an episode's environment isn't known.
    """
    if splits is None or not splits.fractions:
        return {}
    total = sum(splits.fractions.values())
    for name, share in splits.fractions.items():
        if not _NAME.fullmatch(name):
            raise UsageError(f"splitting: {name!r} can't be a split's name")
        if not 0 < share <= 1 or total > 1 + 1e-9:
            raise UsageError("splitting: shares are above 0, and together at most 1")
    groups: dict[int, list[int]] = {}
    for place, episode in enumerate(episodes):
        key = place
        if splits.by == "environment":
            if episode.env is None:
                raise UsageError(
                    f"splitting by environment: that of episode {episode.id} isn't "
                    "known; split by episode"
                )
            key = episode.env
        groups.setdefault(key, []).append(place)
    keys = sorted(groups)
    order = np.random.default_rng(splits.seed).permutation(len(keys)).tolist()
    out: dict[str, list[int]] = {}
    begin, reached = 0, 0.0
    for name, share in splits.fractions.items():
        reached += share
        end = round(reached * len(keys))
        chosen = [groups[keys[k]] for k in order[begin:end]]
        out[name] = sorted(place for group in chosen for place in group)
        begin = end
    return out
