"""Packs control steps whose spaces are flat vectors of one dtype, many at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoscope.core.recording.labelled.forms import to_json
from isoscope.core.recording.labelled.intake_recorder import transition_rows
from isoscope.core.recording.labelled.records import DIGEST_BYTES
from isoscope.core.tap.adapters.scalars import FIXED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoscope.core.recording.labelled.frames import Frame
    from isoscope.core.recording.labelled.intake_recorder import IntakeRecorder
    from isoscope.core.recording.tracks import Array
    from isoscope.core.tap.adapters.scalars import Name, Scalars

REASONS = ("terminated_reason", "truncated_reason")
MOST_FORMS = 64
_NUMBERS = FIXED - {str, bytes, type(None), int}
ROW_BYTES = 1000  # of a control step that waits to be packed, besides its vectors


class PlainStep(NamedTuple):
    """One control step, or many: then a list a field.

    First as `records.Transition`, then its own copies of the vectors.

    Attributes
    ----------
    raw
        The action as given [A].
    before, after
        Observations [O].
    terms, info, name
        Reward terms and what the info tells: `name` of them; without it `terms` is what
        that would give, and `info` the reasons.
    """

    env: int
    episode: int
    control_step: int
    reward: float
    terminated: int
    truncated: int
    valid: int
    first_row: int
    last_row: int
    wall_ns: int
    rng_digest: bytes
    action_rng_digest: bytes
    raw: Any
    before: Any
    after: Any
    terms: dict[Any, Any]
    info: dict[Any, Any] | None
    name: Callable[[Any, Any], dict[Name, float]] | None


_PLAIN = PlainStep._fields[:10]


class PlainSteps:
    """Packs them for a writer of control steps.

    Parameters
    ----------
    recorder
        Where they go.
    frame
        Its fields: raw action, clipped action, observation after, observation before.
    scalars
        For what is named.
    low, high
        Limits of the action [A].
    clips
        Whether the environment clips it; else it is told only where that changes
        nothing.
    """

    def __init__(
        self,
        recorder: IntakeRecorder,
        frame: Frame,
        scalars: Scalars,
        low: Array,
        high: Array,
        *,
        clips: bool,
    ) -> None:
        self._recorder = recorder
        self._frame = frame
        self._scalars = scalars
        self._low, self._high = low, high
        self._clips = clips
        self._forms: dict[tuple[Any, ...], dict[Name, int]] = {}

    def add(self, step: tuple[Any, ...], size: int) -> int:
        """Record one; returns its number, -1 where it was refused.

        Parameters
        ----------
        step
            The fields of `PlainStep`.
        size
            Bytes of its vectors.
        """
        return self._recorder.transition_later(self.pack, step, ROW_BYTES + size)

    def _named(
        self, terms: dict[Any, Any], info: dict[Any, Any], name: Any
    ) -> dict[Name, float]:
        """What `name` gives: mostly the same names of the same places as before."""
        values = *terms.values(), *info.values()
        form = name, *terms, len(terms), *info, *map(type, values)
        known = self._forms.get(form)
        if known is None:
            found: dict[Name, float] = name(terms, info)
            if int in form:  # told or not by its size
                return found
            # Numbered in the values' stead: where each name comes from.
            places = [k if type(v) in _NUMBERS else v for k, v in enumerate(values)]
            at = len(terms)
            known = name(
                dict(zip(terms, places[:at], strict=True)),
                dict(zip(info, places[at:], strict=True)),
            )
            if list(known) != list(found) or len(self._forms) >= MOST_FORMS:
                return found
            self._forms[form] = known = {n: int(k) for n, k in known.items()}
        return {n: float(values[k]) for n, k in known.items()}

    def pack(self, raws: list[tuple[Any, ...]]) -> None:
        """Append these: the `pack` of `IntakeRecorder.transition_later`."""
        count = len(raws)
        columns: Any = PlainStep._make(zip(*raws, strict=True))
        rows = transition_rows(count)
        for name in _PLAIN:
            rows[name] = getattr(columns, name)
        for name in ("rng_digest", "action_rng_digest"):
            rows[name] = _digests(getattr(columns, name))
        told = zip(columns.terms, columns.info, columns.name, strict=True)
        named = []
        for k, (terms, info, name) in enumerate(told):
            if name is None:
                reasons = info
                named.append(terms)
            else:
                reasons = reasons_of(info)
                named.append(self._named(terms, info, name))
            if reasons is not None:
                rows["reasons"][k] = self._recorder.intake.blob(to_json(reasons))
        raw, before, after = (
            np.concatenate(vectors).reshape(count, -1)
            for vectors in (columns.raw, columns.before, columns.after)
        )
        clipped = np.clip(raw, self._low, self._high)
        values = np.concatenate((raw, clipped, after, before), axis=1)
        valid = np.ones((count, 4), np.bool_)
        if not self._clips:
            valid[:, 1] = ((raw >= self._low) & (raw <= self._high)).all(1)
        scalars = self._scalars.batch(_columns(named), count)
        parts = [(self._frame, values, valid), *scalars]
        self._recorder.transitions_packed(rows, parts)


def reasons_of(info: Any) -> dict[str, str] | None:
    """Why an episode ended, as an info tells it."""
    if not isinstance(info, dict):
        return None
    found = {key: info[key] for key in REASONS if isinstance(info.get(key), str)}
    return found or None


def _columns(named: Sequence[dict[Name, float]]) -> dict[Name, tuple[Array, Array]]:
    """By name its values [n], and where they are there [n]."""
    first, count = named[0], len(named)
    order = list(first)
    if all(list(one) == order for one in named):
        values = np.array([list(one.values()) for one in named], np.float64)
        there = np.ones(count, np.bool_)
        return {name: (values[:, k], there) for k, name in enumerate(order)}
    found: dict[Name, tuple[Array, Array]] = {}
    for k, one in enumerate(named):
        for name, value in one.items():
            if name not in found:
                found[name] = np.zeros(count), np.zeros(count, np.bool_)
            column, present = found[name]
            column[k], present[k] = value, True
    return found


def _digests(values: Sequence[bytes]) -> Array:
    flat = b"".join([value.ljust(DIGEST_BYTES, b"\0") for value in values])
    return np.frombuffer(flat, np.uint8).reshape(-1, DIGEST_BYTES)
