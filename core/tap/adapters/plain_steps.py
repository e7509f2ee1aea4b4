"""Packs control steps whose spaces are flat vectors of one dtype, many at once."""

from __future__ import annotations

from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoscope.core.recording.labelled.forms import to_json
from isoscope.core.recording.labelled.tables import TRANSITIONS
from isoscope.core.tap.adapters.scalars import FIXED, LARGEST

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoscope.core.recording.labelled.frames import Frame
    from isoscope.core.recording.labelled.intake_recorder import IntakeRecorder
    from isoscope.core.recording.tracks import Array
    from isoscope.core.tap.adapters.scalars import Name, Scalars

    Naming = Callable[[dict[Any, Any], dict[Any, Any]], dict[Name, float]]

REASONS = ("terminated_reason", "truncated_reason")
MOST_FORMS = 64
_NUMBERS = FIXED - {str, bytes, type(None)}
ROW_BYTES = 1000  # of a control step that waits to be packed, besides its vectors
pack_transition = TRANSITIONS.packer.pack


class Form(NamedTuple):
    """What is told beside a control step, in the order of its values.

    Attributes
    ----------
    terms, info
        Keys of the reward terms and of the info, whose values lie end to end.
    name
        Makes named numbers of them.
    names, places
        Which value each name is, as long as all `fits`; None where `name` has to say.
    sized
        Places of whole numbers, which are only told up to a size.
    reasons
        Whether the info may hold reasons.
    """

    terms: tuple[Any, ...]
    info: tuple[Any, ...]
    name: Naming
    names: tuple[Name, ...] | None
    places: tuple[int, ...]
    sized: tuple[int, ...]
    reasons: bool

    def named(self, values: Sequence[Any]) -> dict[Name, float]:
        """The named numbers of these values."""
        return self.name(*self.apart(values))

    def fits(self, told: Sequence[Sequence[Any]]) -> bool:
        """Whether whole numbers are small enough to be told, in all of these."""
        return all(
            -LARGEST <= values[k] < LARGEST for values in told for k in self.sized
        )

    def apart(self, values: Sequence[Any]) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """The reward terms and the info again."""
        at = len(self.terms)
        terms = dict(zip(self.terms, values[:at], strict=True))
        return terms, dict(zip(self.info, values[at:], strict=True))


class PlainStep(NamedTuple):
    """One control step, or many: then a list a field.

    Attributes
    ----------
    row
        A packed row of `tables.TRANSITIONS`, without reasons and options.
    raw, before, after
        The action as given [A], both observations [O], as bytes.
    clipped
        The action as clipped [A], as bytes; b"" where that isn't known, None where it
        follows from the limits.
    form, values
        What is told beside; without a form the values are named numbers and reasons.
    """

    row: bytes
    raw: bytes
    before: bytes
    after: bytes
    clipped: bytes | None
    form: Form | None
    values: tuple[Any, ...]


class PlainSteps:
    """Packs them for a writer of control steps.

    Parameters
    ----------
    recorder
        Where they go.
    frame
        Its fields: raw action, clipped action, observation after, observation before.
    sizes
        Of action and observation, A and O.
    scalars
        For what is named.
    low, high
        Limits of the action [A].
    clips
        Whether the environment clips it; else it is told only where that changes
        nothing.

    Attributes
    ----------
    dtype
        Of all vectors.
    acting, seen
        Shapes of action and observation.
    """

    def __init__(
        self,
        recorder: IntakeRecorder,
        frame: Frame,
        sizes: tuple[int, int],
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
        self.dtype = np.dtype(frame.dtype.str)  # the one that arrays mostly have
        self.acting, self.seen = (sizes[0],), (sizes[1],)
        size = ROW_BYTES + (2 * sizes[0] + 2 * sizes[1]) * self.dtype.itemsize
        intake = recorder.intake
        self._later = partial(intake.later, intake.tables["transitions"], self.pack)
        self._size = size
        self._forms: dict[tuple[Any, ...], Form | None] = {}
        self._last_key: tuple[Any, ...] = ()
        self._last_form: Form | None = None

    def add(self, step: tuple[Any, ...]) -> int:
        """Record one, the fields of a `PlainStep`; its number, -1 where refused."""
        return self._later(step, self._size)

    def kept(self, value: Any, shape: tuple[int, ...]) -> bytes | None:
        """A copy of a vector, `dtype` [*shape]; None of anything else."""
        if (
            type(value) is np.ndarray
            and value.dtype == self.dtype
            and value.shape == shape
        ):
            return value.tobytes()
        return None

    def told(
        self, terms: Any, info: Any, name: Naming
    ) -> tuple[Form, tuple[Any, ...]] | None:
        """Form and values of what is told beside a control step.

        None where that can't wait: somebody might still change it.

        Parameters
        ----------
        name
            Makes named numbers of terms and info.
        """
        if type(terms) is not dict or type(info) is not dict:
            return None
        values = *terms.values(), *info.values()
        key = tuple(terms), tuple(info), tuple(map(type, values)), name
        if key == self._last_key:  # mostly
            form = self._last_form
        else:
            form = self._form(key, values)
        return None if form is None else (form, values)

    def _form(self, key: tuple[Any, ...], values: tuple[Any, ...]) -> Form | None:
        forms = self._forms
        if key in forms:
            form = forms[key]
        else:
            terms, info, _, name = key
            form = _form(terms, info, values, name)
            if len(forms) < MOST_FORMS:
                forms[key] = form
        self._last_key, self._last_form = key, form
        return form

    def pack(self, raws: list[tuple[Any, ...]]) -> None:
        """Append these: the `pack` of `Intake.later`."""
        count = len(raws)
        columns: Any = PlainStep._make(zip(*raws, strict=True))
        rows = np.frombuffer(b"".join(columns.row), TRANSITIONS.dtype).copy()
        self._reasons(rows, columns)
        raw, before, after = (
            np.frombuffer(b"".join(vectors), self.dtype).reshape(count, -1)
            for vectors in (columns.raw, columns.before, columns.after)
        )
        valid = np.ones((count, 4), np.bool_)
        clipped = self._clipped(raw, columns.clipped, valid[:, 1])
        values = np.concatenate((raw, clipped, after, before), axis=1)
        scalars = self._scalars.batch(_named(columns, count), count)
        parts = [(self._frame, values, valid), *scalars]
        self._recorder.transitions_packed(rows, parts)

    def _clipped(self, raw: Array, told: Sequence[bytes | None], known: Array) -> Array:
        """Actions as clipped [n, A]; takes out of `known` [n] those that aren't."""
        clipped = np.clip(raw, self._low, self._high)
        if not self._clips:
            known[:] = ((raw >= self._low) & (raw <= self._high)).all(1)
        for k, one in enumerate(told):
            if one is not None:
                known[k] = bool(one)
                if one:
                    clipped[k] = np.frombuffer(one, self.dtype)
        return clipped

    def _reasons(self, rows: Array, columns: Any) -> None:
        for k, (form, values) in enumerate(
            zip(columns.form, columns.values, strict=True)
        ):
            if form is None:
                reasons = values[1]
            elif form.reasons:
                reasons = reasons_of(form.apart(values)[1])
            else:
                continue
            if reasons is not None:
                rows["reasons"][k] = self._recorder.intake.blob(to_json(reasons))


def reasons_of(info: Any) -> dict[str, str] | None:
    """Why an episode ended, as an info tells it."""
    if not isinstance(info, dict):
        return None
    found = {key: info[key] for key in REASONS if isinstance(info.get(key), str)}
    return found or None


def _form(
    terms: tuple[Any, ...], info: tuple[Any, ...], values: tuple[Any, ...], name: Naming
) -> Form | None:
    """The form of what is told; None where values may change later."""
    if not FIXED.issuperset(map(type, values)):
        return None
    reasons = not set(REASONS).isdisjoint(info)
    sized = tuple(k for k, value in enumerate(values) if type(value) is int)
    form = Form(terms, info, name, None, (), sized, reasons)
    # Numbered in the values' stead: where each name comes from.
    numbered = [k if type(v) in _NUMBERS else v for k, v in enumerate(values)]
    places = name(*form.apart(numbered))
    if list(places) != list(form.named(values)):
        return form
    found = tuple(int(k) for k in places.values())
    return form._replace(names=tuple(places), places=found)


def _named(columns: Any, count: int) -> dict[Name, tuple[Array, Array]]:
    """By name its values [n], and where they are there [n]."""
    found: dict[Name, tuple[Array, Array]] = {}

    def put(name: Name, rows: slice, values: Any) -> None:
        if name not in found:
            found[name] = np.zeros(count), np.zeros(count, np.bool_)
        column, present = found[name]
        column[rows], present[rows] = values, True

    at = 0
    both = zip(columns.form, columns.values, strict=True)
    for form, run in groupby(both, itemgetter(0)):
        told = [values for _, values in run]
        if form is not None and form.names is not None and form.fits(told):
            rows = slice(at, at + len(told))
            if form.names:
                numbers = np.array([*map(itemgetter(*form.places), told)], np.float64)
                numbers = numbers.reshape(len(told), -1)
                for name, column in zip(form.names, numbers.T, strict=True):
                    put(name, rows, column)
        else:
            for k, values in enumerate(told, at):
                named = values[0] if form is None else form.named(values)
                for name, value in named.items():
                    put(name, slice(k, k + 1), value)
        at += len(told)
    return found
