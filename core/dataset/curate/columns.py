"""What a query can ask of an episode of a choice, as columns, and its findings.

`length`, `return`, `env`, `episode` (its number within its environment), `index` (its
place), `terminated`, `truncated`, `complete`, `findings` (errors and warnings that
touch it), `errors`, `warnings`, `notes`, `tainted` (its transitions that can't be
trusted), `tags`, `accepted`, `rejected`, and its native steps `native_first` ..
`native_last`. What is unknown is NaN.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from isoscope.core.dataset.curate.edits import Choice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.dataset.curate.edits import Item
    from isoscope.core.dataset.model import Episode, Episodes
    from isoscope.core.isolation.findings import Audit, Finding
    from isoscope.core.isolation.tainting import Tainted
    from isoscope.core.recording.tracks import Array

NAN = float("nan")
WINDOW = 1 << 16


@dataclass(frozen=True, slots=True)
class Touches:
    """Which findings touch which control steps of which episodes.

    Attributes
    ----------
    tainted
        Of the recording that the episodes come from.
    by_transition
        Whether `Episode.rows` are rows of the recording's own transitions; else all
        of an episode is touched as soon as one of its native steps is.
    """

    episodes: Episodes
    tainted: Tainted
    by_transition: bool

    def of(self, items: Sequence[Item]) -> list[list[int]]:
        """For each item the places in `tainted.findings` of what touches it, ascending.

        The items are of one choice: no control step is in two of them.
        """
        hits: list[set[int]] = [set() for _ in items]
        known = [self.episodes.episodes[item.source] for item in items]
        if self.by_transition:
            self._by_transition(items, known, hits)
        else:
            self._by_native(known, hits)
        self._named(known, hits)
        return [sorted(hit) for hit in hits]

    def tainted_steps(self, items: Sequence[Item]) -> Array:
        """How many transitions of each item can't be trusted, float64 [n].

        NaN where that is not known. Where the episodes' rows are not those of the
        recording's own transitions, all of a touched episode count.
        """
        known = [self.episodes.episodes[item.source] for item in items]
        out = np.full(len(items), NAN)
        if self.by_transition:
            for at, (item, episode) in enumerate(zip(items, known, strict=True)):
                if episode.rows is not None:
                    rows = episode.rows[item.start : item.stop]
                    out[at] = np.count_nonzero(self.tainted.transitions[rows])
            return out
        hits: list[set[int]] = [set() for _ in items]
        self._by_native(known, hits)
        for at, (item, episode) in enumerate(zip(items, known, strict=True)):
            if episode.native is not None:
                out[at] = item.length if hits[at] else 0
        return out

    def _by_transition(
        self, items: Sequence[Item], known: Sequence[Episode], hits: list[set[int]]
    ) -> None:
        owner = np.full(len(self.tainted.transitions), -1, np.int64)
        for at, (item, episode) in enumerate(zip(items, known, strict=True)):
            if episode.rows is not None:
                owner[episode.rows[item.start : item.stop]] = at
        for span in self.tainted.spans:
            for at in np.unique(owner[span.transitions]).tolist():
                if at >= 0:
                    hits[at].add(span.finding)

    def _by_native(self, known: Sequence[Episode], hits: list[set[int]]) -> None:
        spans = [e.native if e.native is not None else (0, -1) for e in known]
        first, last = np.array(spans, np.int64).reshape(-1, 2).T
        env = np.array([-1 if e.env is None else e.env for e in known], np.int64)
        for span in self.tainted.spans:
            if not len(span.rows):
                continue
            low = np.searchsorted(span.rows, first)
            inside = low < len(span.rows)
            inside &= span.rows[np.minimum(low, len(span.rows) - 1)] <= last
            if span.env is not None:
                inside &= env == span.env
            for at in np.flatnonzero(inside).tolist():
                hits[at].add(span.finding)

    def _named(self, known: Sequence[Episode], hits: list[set[int]]) -> None:
        """Findings of an episode that taint nothing in particular."""
        spread = {span.finding for span in self.tainted.spans}
        named: dict[tuple[int | None, int | None], list[int]] = {}
        for at, finding in enumerate(self.tainted.findings):
            if at not in spread and None not in (finding.env, finding.episode):
                named.setdefault((finding.env, finding.episode), []).append(at)
        for hit, episode in zip(hits, known, strict=True):
            hit.update(named.get((episode.env, episode.number), ()))


def of_what_is_kept(audit: Audit, touches: Touches, choice: Choice) -> Audit:
    """An audit without the findings that touch only what the choice left out.

    A finding that has no place stays.
    """
    every = touches.of(Choice.all_of(touches.episodes.episodes).items)
    kept = {at for hit in touches.of(choice.kept) for at in hit}
    gone = {at for hit in every for at in hit} - kept
    findings = [f for at, f in enumerate(audit.findings) if at not in gone]
    return msgspec.structs.replace(audit, findings=findings)


def columns(
    episodes: Episodes,
    choice: Choice,
    touches: Touches | None = None,
    query: str = "",
) -> dict[str, Any]:
    """Columns [n] of a choice's items, as `query.matching` takes them.

    Parameters
    ----------
    touches
        None where there is no audit: findings are then unknown.
    query
        What will be asked: returns are only summed up where it names them.

    Raises
    ------
    ReadError
        If rewards are asked for and can't be read.
    """
    items = choice.items
    known = [episodes.episodes[item.source] for item in items]
    whole = [
        item.stop == e.length for item, e in zip(items, known, strict=True)
    ]  # what is cut has not ended
    out: dict[str, Any] = {
        "length": np.array([float(item.length) for item in items]),
        "return": _returns(episodes, items, query),
        "env": _known([e.env for e in known]),
        "episode": _known([e.number for e in known]),
        "index": np.arange(len(items), dtype=np.float64),
        "terminated": _ended([e.terminated for e in known], whole),
        "truncated": _ended([e.truncated for e in known], whole),
        "complete": np.array(
            [e.complete and w for e, w in zip(known, whole, strict=True)], np.float64
        ),
        "tags": [frozenset(item.tags) for item in items],
        "accepted": np.array([i.verdict == "accepted" for i in items], np.float64),
        "rejected": np.array([i.verdict == "rejected" for i in items], np.float64),
        "native_first": _known([e.native and e.native[0] for e in known]),
        "native_last": _known([e.native and e.native[1] for e in known]),
    }
    return out | _findings(items, touches)


def _known(values: Sequence[float | bool | None]) -> Array:
    return np.array([NAN if v is None else float(v) for v in values], np.float64)


def _ended(flags: Sequence[bool | None], whole: Sequence[bool]) -> Array:
    return _known(
        [
            flag if w or flag is None else False
            for flag, w in zip(flags, whole, strict=True)
        ]
    )


def _returns(episodes: Episodes, items: Sequence[Item], query: str) -> Array:
    named = [f.name for f in episodes.features if f.role == "reward"]
    out = np.full(len(items), NAN)
    if not named or not re.search(r"\breturn\b", query):
        return out
    for at, item in enumerate(items):
        out[at] = return_of(episodes, item, named[0])
    return out


def return_of(episodes: Episodes, item: Item, reward: str) -> float:
    """Σ r of an item, float64."""
    total = 0.0
    for start in range(item.start, item.stop, WINDOW):
        stop = min(start + WINDOW, item.stop)
        values = episodes.read(item.source, reward, start, stop)
        total += float(np.asarray(values, np.float64).sum())
    return total


def _findings(items: Sequence[Item], touches: Touches | None) -> dict[str, Array]:
    names = ("findings", "errors", "warnings", "notes", "tainted")
    out = {name: np.full(len(items), NAN) for name in names}
    if touches is None:
        return out
    all_of_them: Sequence[Finding] = touches.tainted.findings
    for at, hit in enumerate(touches.of(items)):
        severities = [all_of_them[k].severity for k in hit]
        out["errors"][at] = severities.count("error")
        out["warnings"][at] = severities.count("warning")
        out["notes"][at] = severities.count("note")
        out["findings"][at] = out["errors"][at] + out["warnings"][at]
    out["tainted"] = touches.tainted_steps(items)
    return out
