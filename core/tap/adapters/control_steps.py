"""Writes control steps: a row of transitions, and the vectors that go with it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.tap.adapters.plain_steps import PlainSteps
from isoscope.core.tap.adapters.values import holds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoscope.core.recording.labelled import records as r
    from isoscope.core.recording.labelled.frames import Frame
    from isoscope.core.recording.labelled.intake_recorder import IntakeRecorder
    from isoscope.core.recording.tracks import Array
    from isoscope.core.tap.adapters.leaves import Leaf
    from isoscope.core.tap.adapters.scalars import Name, Scalars

# What has more bytes is told once: what was seen before is what the last row led to.
LARGEST_BEFORE = 1 << 16
RAW, CLIPPED = "raw_action", "action"
BEFORE, AFTER = "observation_before", "observation_after"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a leaf is kept."""

    leaf: Leaf
    frame: Frame
    index: int
    slice: slice


class ControlSteps:
    """Writes the control steps of environments that have the same spaces.

    Parameters
    ----------
    recorder
        Where they go.
    scalars
        For what infos tell, shared by all of a thread.
    action, observation
        The leaves of the spaces.
    raw
        The dtype that actions are given in, which may be wider than the space's; the
        clipped ones are rounded to the space's. None: for resets, where there is no
        action and nothing before.

    Attributes
    ----------
    lock
        To be held from the first `put` to `write`: threads may share it.
    """

    def __init__(
        self,
        recorder: IntakeRecorder,
        action: Sequence[Leaf],
        observation: Sequence[Leaf],
        raw: np.dtype[Any] | None,
        scalars: Scalars,
    ) -> None:
        self._recorder = recorder
        self.lock = recorder.intake.lock
        self.scalars = scalars
        groups: dict[str, Sequence[Leaf]] = {AFTER: observation}
        if raw is not None:
            given = [leaf if leaf.path else replace(leaf, dtype=raw) for leaf in action]
            groups = {RAW: given, CLIPPED: action, AFTER: observation}
            groups[BEFORE] = [
                leaf
                for leaf in observation
                if leaf.size * leaf.dtype.itemsize <= LARGEST_BEFORE
            ]
        by_dtype: dict[np.dtype[Any], list[tuple[str, Leaf]]] = {}
        for group, found in groups.items():
            for leaf in found:
                by_dtype.setdefault(leaf.dtype, []).append((group, leaf))
        self._places: dict[str, list[Place]] = {group: [] for group in groups}
        self._frames: list[Frame] = []
        for dtype, entries in by_dtype.items():
            fields = [leaf.field(group) for group, leaf in entries]
            frame = recorder.frame(fields, dtype, over="transitions")
            self._frames.append(frame)
            for index, (group, leaf) in enumerate(entries):
                self._places[group].append(self._place(leaf, frame, index))
        # The usual case: both spaces are flat vectors of one dtype.
        plain = (
            raw is not None
            and len(by_dtype) == 1
            and all(
                len(places) == 1 and places[0].leaf.flat
                for places in self._places.values()
            )
        )
        self.plain_dtype = next(iter(by_dtype)) if plain else None
        self._plain: dict[tuple[bytes, bytes, bool], PlainSteps] = {}
        self.sizes = (action[0].size, observation[0].size) if plain else (0, 0)

    @staticmethod
    def _place(leaf: Leaf, frame: Frame, index: int) -> Place:
        return Place(leaf, frame, index, frame.slices[index])

    # -- one environment's --

    def put(self, group: str, value: Any) -> None:
        """Fill in a group of the next row; what its field can't hold stays absent.

        Frames hold one next row: whoever shares them keeps `lock` until `write`.
        """
        self._catch_up()
        for place in self._places.get(group, ()):
            try:
                found = np.asarray(place.leaf.of(value))
            except (TypeError, ValueError, KeyError, IndexError):
                continue
            if holds(place.leaf, found, rounded=group == CLIPPED):
                with np.errstate(all="ignore"):
                    place.frame.values[place.slice] = found.reshape(-1)
                place.frame.valid[place.index] = 1

    def plain(self, low: Array, high: Array, *, clips: bool) -> PlainSteps | None:
        """What records steps that are flat vectors of `plain_dtype`; else None.

        Parameters
        ----------
        low, high, clips
            See `PlainSteps`.
        """
        if self.plain_dtype is None:
            return None
        key = low.tobytes(), high.tobytes(), clips
        found = self._plain.get(key)
        if found is None:
            about = self._recorder, self._frames[0], self.sizes, self.scalars, low, high
            found = self._plain[key] = PlainSteps(*about, clips=clips)
        return found

    def write(
        self,
        transition: r.Transition,
        names: tuple[Name, ...] = (),
        values: list[float] | None = None,
    ) -> int:
        """Record a control step with what was put; returns its number.

        Parameters
        ----------
        names, values
            Reward terms and what the info tells.
        """
        self._catch_up()
        frames = self.scalars.put(names, values) if values else []
        return self._recorder.transition(transition, *self._frames, *frames)

    def _catch_up(self) -> None:
        """Have steps packed that wait: frames hold the next row and no other."""
        intake = self._recorder.intake
        intake.catch_up(intake.tables["transitions"])

    # -- many environments' --

    def batch(
        self,
        rows: Array,
        groups: Mapping[str, tuple[Any, Array]],
        columns: Mapping[Name, tuple[Array, Array]],
    ) -> int:
        """Record a control step of n environments; returns the first one's number.

        Parameters
        ----------
        rows
            As `IntakeRecorder.transitions` takes them, [n].
        groups
            By group its values, each leaf [n, *shape], and where they are there [n].
        columns
            See `Scalars.batch`.
        """
        count = len(rows)
        parts = []
        for frame in self._frames:
            dtype = frame.values.dtype
            values = np.zeros((count, frame.values.size), dtype)
            valid = np.zeros((count, len(frame.fields)), np.bool_)
            parts.append((frame, values, valid))
        by_frame = {id(frame): (values, valid) for frame, values, valid in parts}
        for group, (batch, present) in groups.items():
            for place in self._places.get(group, ()):
                values, valid = by_frame[id(place.frame)]
                try:
                    found = np.asarray(place.leaf.of(batch))
                except (TypeError, ValueError, KeyError, IndexError):
                    continue
                if holds(place.leaf, found, count, rounded=group == CLIPPED):
                    with np.errstate(all="ignore"):
                        values[:, place.slice] = found.reshape(count, place.leaf.size)
                    valid[:, place.index] = present
        return self._recorder.transitions(
            rows, [*parts, *self.scalars.batch(columns, count)]
        )
