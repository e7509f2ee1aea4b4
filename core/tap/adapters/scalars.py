"""Named numbers that come and go: reward terms and what infos tell."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.recording.labelled import records as r

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from isoscope.core.recording.labelled.frames import Frame
    from isoscope.core.recording.labelled.intake_recorder import IntakeRecorder
    from isoscope.core.recording.tracks import Array

MOST_NAMES = 4096
MOST_DEPTH = 6
Name = tuple[str, str]  # group and name
NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating)
# Of values that stay as they are, whoever has them: they may be looked at later.
FIXED: frozenset[type] = frozenset(
    {
        *(bool, int, float, str, bytes, type(None), np.bool_),
        *(np.float16, np.float32, np.float64, np.int32, np.int64),
    }
)
LARGEST = 2.0**63


class Scalars:
    """Gives each name its place in a frame of float64; new names get new frames.

    Parameters
    ----------
    recorder
        Where the frames are.
    """

    def __init__(self, recorder: IntakeRecorder) -> None:
        self._recorder = recorder
        self._places: dict[Name, tuple[Frame, int]] = {}
        self._first: tuple[Name, ...] = ()

    def put(self, names: tuple[Name, ...], values: list[float]) -> list[Frame]:
        """Fill in the next row's values; returns the frames that go with it."""
        if not names:
            return []
        if names == self._first:
            frame = self._places[names[0]][0]
            frame.fill(values)
            return [frame]
        self._make(names)
        used: dict[int, Frame] = {}
        for name, value in zip(names, values, strict=True):
            place = self._places.get(name)
            if place is not None:
                frame, index = place
                frame.values[index] = value
                frame.valid[index] = 1
                used[id(frame)] = frame
        return list(used.values())

    def batch(
        self, columns: Mapping[Name, tuple[Array, Array]], count: int
    ) -> list[tuple[Frame, Array, Array]]:
        """Values of many rows: by name [n], and where they are there [n].

        Returns
        -------
        list
            As `IntakeRecorder.transitions` takes it.
        """
        self._make(columns)
        parts: dict[int, tuple[Frame, Array, Array]] = {}
        for name, (values, present) in columns.items():
            place = self._places.get(name)
            if place is None:
                continue
            frame, index = place
            width = len(frame.fields)
            part = parts.get(id(frame))
            if part is None:
                part = frame, np.zeros((count, width)), np.zeros((count, width), bool)
                parts[id(frame)] = part
            part[1][:, index] = values
            part[2][:, index] = present
        return list(parts.values())

    def _make(self, names: Iterable[Name]) -> None:
        new = [name for name in names if name not in self._places]
        room = MOST_NAMES - len(self._places)
        if len(new) > room:
            self._recorder.dropped(
                r.Dropped(
                    "info",
                    len(new) - room,
                    self._recorder.rows,
                    time.time_ns(),
                    f"there are {MOST_NAMES:,} names of numbers already",
                )
            )
            new = new[:room]
        if not new:
            return
        fields = [r.Field(name=name, group=group) for group, name in new]
        frame = self._recorder.frame(fields, np.float64, over="transitions")
        if not self._places:
            self._first = tuple(new)
        for index, name in enumerate(new):
            self._places[name] = frame, index


def numbers(
    info: Any, group: str, skip: frozenset[str] = frozenset()
) -> dict[Name, float]:
    """The plain numbers of an info, nested ones as ``"outer/inner"``."""
    found: dict[Name, float] = {}
    if isinstance(info, dict):
        _collect(info, "", group, skip, found, 0)
    return found


def _collect(
    info: dict[Any, Any],
    prefix: str,
    group: str,
    skip: frozenset[str],
    found: dict[Name, float],
    depth: int,
) -> None:
    for key, value in info.items():
        kind = type(value)
        if kind is float or isinstance(value, NUMBERS):
            name = f"{prefix}{key}"
            sized = not isinstance(value, int) or -LARGEST <= value < LARGEST
            if name not in skip and sized:
                found[group, name] = float(value)
        elif isinstance(value, dict):
            if depth < MOST_DEPTH and f"{prefix}{key}" not in skip:
                _collect(value, f"{prefix}{key}/", group, skip, found, depth + 1)
        elif kind is np.ndarray and value.ndim == 0 and value.dtype.kind in "biuf":
            name = f"{prefix}{key}"
            if name not in skip:
                found[group, name] = float(value)
