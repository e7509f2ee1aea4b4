"""Compare an index with what the plain loop read, value by value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.recording.model import Recording
    from isoscope.core.recording.tracks import AnyTrack, Array

_TIMES = ("timeTotal", "timeStep", "gravity")


def equal(
    recording: Recording,
    columns: dict[tuple[str, str], list[Any]],
    times: list[tuple[Any, Any, Any]],
) -> bool:
    """Whether the index holds the loop's values, bit for bit, and no others.

    Parameters
    ----------
    columns
        Each value that was there, by handle (as text) and field, in the steps' order.
    times
        ``timeTotal``, ``timeStep`` and ``gravity`` of every step.
    """
    if len(times) != len(recording):
        return False
    for number, name in enumerate(_TIMES):
        track = recording.scene.get(name)
        if track is None or not _same([row[number] for row in times], _present(track)):
            return False
    tracks: dict[tuple[str, str], list[AnyTrack]] = {}
    # An actor that comes back under its handle has a track for every life.
    for actor in recording.actors:
        for name in actor.fields:
            tracks.setdefault((str(actor.handle), name), []).append(actor.fields[name])
    if tracks.keys() != columns.keys():
        return False
    return all(
        _same(values, (v for track in tracks[key] for v in _present(track)))
        for key, values in columns.items()
    )


def _present(track: AnyTrack) -> Iterator[Array]:
    for row in range(track.first, track.first + len(track)):
        value = track.at(row)
        if value is not None:
            yield value


def _same(read: list[Any], indexed: Iterator[Array]) -> bool:
    done = 0
    for value in indexed:
        if done == len(read):
            return False
        expected = np.asarray(read[done])
        if expected.shape != value.shape or expected.tobytes() != value.tobytes():
            return False
        if expected.dtype != value.dtype:
            return False
        done += 1
    return done == len(read)
