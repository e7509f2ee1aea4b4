"""A choice of episodes as episodes: contiguous numbers, and where each comes from."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from isoscope.core.dataset.model import Dropped
from isoscope.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from isoscope.core.dataset.curate.columns import Touches
    from isoscope.core.dataset.curate.edits import Choice, Item
    from isoscope.core.dataset.model import Episode, Episodes, Feature, StoredStats
    from isoscope.core.recording.tracks import Array


@dataclass(slots=True)
class CuratedEpisodes:
    """See `isoscope.core.dataset.model.Episodes`; reads from the source."""

    source: Episodes
    items: Sequence[Item]
    episodes: Sequence[Episode]
    dropped: Sequence[Dropped]
    _per: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The source's."""
        return self.source.name

    @property
    def path(self) -> Path | None:
        """The source's."""
        return self.source.path

    @property
    def format(self) -> str:
        """The source's."""
        return self.source.format

    @property
    def features(self) -> Sequence[Feature]:
        """The source's."""
        return self.source.features

    @property
    def unfit(self) -> Sequence[Any]:
        """Columns that the source's reader left unread for their lengths."""
        found: Sequence[Any] = getattr(self.source, "unfit", ())
        return found

    @property
    def splits(self) -> Mapping[str, Sequence[int]]:
        """Those of the source, of what is kept of it."""
        told: Mapping[str, Sequence[int]] = getattr(self.source, "splits", None) or {}
        kept: dict[int, list[int]] = {}
        for index, item in enumerate(self.items):
            kept.setdefault(item.source, []).append(index)
        return {
            name: [index for place in places for index in kept.get(place, ())]
            for name, places in told.items()
        }

    @property
    def whole(self) -> bool:
        """Whether these are all of the source's episodes, in order, uncut."""
        return len(self.items) == len(self.source.episodes) and all(
            item.source == index
            and item.start == 0
            and item.length == self.source.episodes[index].length
            for index, item in enumerate(self.items)
        )

    def stored_stats(self) -> StoredStats | None:
        """The source's, where all of it was chosen: they are of no part of it."""
        read = getattr(self.source, "stored_stats", None)
        return read() if read is not None and self.whole else None

    def tensor_rows(self, episode: int) -> Mapping[str, int] | None:
        """Rows of the tensors that an episode comes from; None if it is of none."""
        read = getattr(self.source, "tensor_rows", None)
        return None if read is None else read(self.items[episode].source)

    def tensor(self, episode: int, key: str, start: int, stop: int) -> Array:
        """Rows start .. stop of such a tensor, whatever was trimmed."""
        source: Any = self.source
        found: Array = source.tensor(self.items[episode].source, key, start, stop)
        return found

    @property
    def control_hz(self) -> float | None:
        """The source's."""
        return self.source.control_hz

    @property
    def identity(self) -> Mapping[str, Any]:
        """The source's."""
        return self.source.identity

    def read(
        self, episode: int, feature: str, start: int = 0, stop: int | None = None
    ) -> Array:
        """Rows start .. stop of a feature of an episode, [rows, *shape]."""
        if not 0 <= episode < len(self.items):
            raise UsageError(f"the choice has no episode {episode}")
        item = self.items[episode]
        known = self.episodes[episode]
        more = self._per.get(feature) == "boundary" and known.final
        wanted = range(item.length + more)[slice(start, stop)]
        low, high = item.start + wanted.start, item.start + wanted.stop
        return self.source.read(item.source, feature, low, max(low, high))

    def close(self) -> None:
        """Leave the source open: it is its reader's."""


def curated(
    source: Episodes, choice: Choice, touches: Touches | None = None
) -> CuratedEpisodes:
    """What a choice keeps of its source.

    Parameters
    ----------
    touches
        What findings taint; each episode's notes then count its ``"tainted"``
        transitions, where that is known.
    """
    kept = choice.kept
    tainted: list[float] = [math.nan] * len(kept)
    if touches is not None:
        tainted = touches.tainted_steps(kept).tolist()
    rejected = sum(i.length for i in choice.items if i.verdict == "rejected")
    all_of_it = sum(e.length for e in source.episodes)
    trimmed = all_of_it - sum(i.length for i in choice.items)
    dropped = list(source.dropped)
    if rejected:
        dropped.append(Dropped("transitions of rejected episodes", rejected))
    if trimmed:
        dropped.append(Dropped("transitions trimmed away", trimmed))
    return CuratedEpisodes(
        source=source,
        items=kept,
        episodes=tuple(
            _episode(index, item, source.episodes[item.source], tainted[index])
            for index, item in enumerate(kept)
        ),
        dropped=tuple(dropped),
        _per={f.name: f.per for f in source.features},
    )


def _episode(index: int, item: Item, of: Episode, tainted: float) -> Episode:
    whole_end = item.stop == of.length
    if (
        (whole_end and item.start == 0 and index == of.index and item.id == of.id)
        and not item.tags
        and math.isnan(tainted)
    ):
        return of  # as most are where there are many
    notes = dict(of.notes)
    if item.id != of.id or item.length != of.length:
        notes["of"] = of.id
        notes["control_steps"] = [item.start, item.stop]
    if item.tags:
        notes["tags"] = list(item.tags)
    if not math.isnan(tainted):
        notes["tainted"] = int(tainted)
    return replace(
        of,
        index=index,
        id=item.id,
        length=item.length,
        # Cut before its end, an episode has not ended within what is left of it.
        terminated=of.terminated if whole_end else _not(of.terminated),
        truncated=of.truncated if whole_end else _not(of.truncated),
        complete=of.complete and whole_end,
        final=of.final or not whole_end,
        seed=of.seed if item.start == 0 else None,
        native=of.native if item.length == of.length else None,
        rows=None if of.rows is None else of.rows[item.start : item.stop],
        notes=notes,
    )


def _not(flag: bool | None) -> bool | None:
    return None if flag is None else False
