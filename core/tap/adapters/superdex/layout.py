"""Learns where an actor's values lie in the scene's captured state, from samples.

Asking the engine for every value takes longer than capturing the whole state, which
holds most of them. Where they lie is not documented and differs from scene to scene, so
it is found by comparing: a place is taken only if it held the value's very bytes in
every sample, while the value changed. What was found is compared with the engine's
values again and again, and never told before that went well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.recording.labelled.records import Field
    from isoscope.core.recording.tracks import Array

SAMPLES = 32
MOST_TRIES = 4
LEAST_DISTINCT = 6  # values among the samples: then an equal one is no coincidence
MOST_BYTES = 1 << 18  # of a state; in larger ones it takes too long to look
_UNKNOWN = -1


@dataclass(frozen=True, eq=False)
class Layout:
    """Where values lie in states of one length.

    Attributes
    ----------
    number
        Of the layout among those of its scene.
    length
        Of the states, in bytes.
    dtype
        Of the values.
    places
        Which of a row's values lie in the state, int64 [k].
    offsets
        Where their first bytes are, int64 [k].
    asked
        Which don't, and are to be asked for: int64 [n - k].
    """

    number: int
    length: int
    dtype: np.dtype[Any]
    places: Array
    offsets: Array
    asked: Array

    def cut(self, state: bytes) -> Array:
        """The values that lie in a state, [k]."""
        size = self.dtype.itemsize
        at = self.offsets[:, None] + np.arange(size)
        found: Array = np.frombuffer(state, np.uint8)[at].reshape(-1).view(self.dtype)
        return found

    def holds(self, state: bytes, values: Sequence[Any]) -> bool:
        """Whether a state holds these very values, all of the row's, bit for bit."""
        if len(state) != self.length:
            return False
        told = np.array(values, self.dtype)[self.places]
        return told.tobytes() == self.cut(state).tobytes()


def learn(
    fields: Sequence[Field],
    dtype: np.dtype[Any],
    samples: Sequence[tuple[bytes, Sequence[Any]]],
    number: int = 0,
) -> Layout | None:
    """Find where values lie; None where hardly any was found.

    Parameters
    ----------
    fields
        Of a row, in order.
    dtype
        Of its values.
    samples
        States of one length, each with the row's values.
    number
        What the layout is to be called.
    """
    finder = _Finder(dtype, samples)
    length, start = len(samples[0][0]), 0
    spans: list[tuple[Field, int, int]] = []
    for field in fields:
        size = int(np.prod(field.shape, dtype=np.int64))
        spans.append((field, start, start + size))
        start += size
    offsets = np.full(start, _UNKNOWN, np.int64)
    whole: dict[tuple[int, str], int] = {}
    for field, a, b in spans:
        found = finder.vector(a, b)
        if found is not None:
            whole[field.actor, field.name] = found
            offsets[a:b] = found + finder.size * np.arange(b - a)
        else:
            alone = [finder.vector(k, k + 1) for k in range(a, b)]
            single = [at for at in alone if at is not None]
            if len(single) == b - a:
                offsets[a:b] = single
    # What never changed lies beside what did as it does with other actors.
    beside = _beside(whole)
    for field, a, b in spans:
        if a < b and offsets[a] == _UNKNOWN:
            for (actor, name), at in list(whole.items()):
                delta = beside.get((name, field.name))
                if actor != field.actor or delta is None:
                    continue
                if finder.lies(a, b, at + delta):
                    offsets[a:b] = at + delta + finder.size * np.arange(b - a)
                    break
    known = offsets != _UNKNOWN
    if not known.any():
        return None
    places = np.flatnonzero(known)
    asked = np.flatnonzero(~known)
    return Layout(number, length, np.dtype(dtype), places, offsets[places], asked)


def _beside(whole: dict[tuple[int, str], int]) -> dict[tuple[str, str], int]:
    """How far one field lies from another, where that is the same with all actors."""
    deltas: dict[tuple[str, str], set[int]] = {}
    for (actor, name), at in whole.items():
        for (other, second), there in whole.items():
            if actor == other and name != second:
                deltas.setdefault((name, second), set()).add(there - at)
    return {pair: d.pop() for pair, d in deltas.items() if len(d) == 1}


class Learner:
    """Collects samples of one scene, and looks at them when there are enough.

    First at every step's, then at those of checks, since what is at rest at first may
    move later.

    Attributes
    ----------
    over
        Whether it has looked often enough.
    """

    def __init__(self) -> None:
        self.over = False
        self._samples: list[tuple[bytes, Sequence[Any]]] = []
        self._tries = 0

    def add(self, state: bytes, values: Sequence[Any]) -> None:
        """Take a sample: a state and the values of the row that goes with it."""
        if len(state) > MOST_BYTES:
            return
        if self._samples and len(self._samples[0][0]) != len(state):
            self._samples.clear()
        self._samples.append((state, values))

    @property
    def enough(self) -> bool:
        """Whether to look at them."""
        return len(self._samples) >= SAMPLES

    def learn(
        self, fields: Sequence[Field], dtype: np.dtype[Any], number: int
    ) -> Layout | None:
        """Look at the samples; see `learn`."""
        found = learn(fields, dtype, self._samples, number)
        self._samples.clear()
        self._tries += 1
        whole = found is not None and not len(found.asked)
        self.over = whole or self._tries >= MOST_TRIES
        return found


class _Finder:
    """Compares values with all places of the samples' states."""

    def __init__(
        self, dtype: np.dtype[Any], samples: Sequence[tuple[bytes, Sequence[Any]]]
    ) -> None:
        kind = np.dtype(dtype)
        self.size = kind.itemsize
        word = np.dtype(f"<u{self.size}")
        values = np.array([told for _, told in samples], kind)
        self._values = np.ascontiguousarray(values).view(word)
        states = np.frombuffer(b"".join(s for s, _ in samples), np.uint8)
        states = states.reshape(len(samples), -1)
        self._last = states.shape[1] - self.size
        # Every word at every byte: what is captured is not aligned.
        self._words = np.zeros((len(samples), max(self._last + 1, 0)), word)
        for k in range(self.size):
            part = states[:, k : k + self._last + 1].astype(word)
            self._words |= part << word.type(8 * k)

    def vector(self, a: int, b: int) -> int | None:
        """Where values a..b lie end to end in every sample; None if that isn't sure."""
        if a >= b:
            return None
        counts = [len(np.unique(self._values[:, k])) for k in range(a, b)]
        first = int(np.argmax(counts))
        if counts[first] < LEAST_DISTINCT:
            return None
        at = np.flatnonzero(self._words[0] == self._values[0, a + first])
        at = at - first * self.size
        # Several hold the same, such as this step's and the last one's in turn: the
        # last is as good as any, and is checked as any.
        for start in at[::-1].tolist():
            if self.lies(a, b, start):
                return int(start)
        return None

    def lies(self, a: int, b: int, start: int) -> bool:
        """Whether values a..b lie there in every sample."""
        if start < 0 or start + self.size * (b - a - 1) > self._last:
            return False
        there = self._words[:, start : start + self.size * (b - a) : self.size]
        return bool((there == self._values[:, a:b]).all())
