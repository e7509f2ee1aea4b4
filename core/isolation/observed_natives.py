"""Which components of an observation are native values, and rows in which they aren't.

Where a component is equal to one native number to the last bit in nearly all control
steps, it is that number. A row in which it is another one was changed on the way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from isoscope.core.isolation.observation_changes import FACTORS, HALF_MAX, Changed
from isoscope.core.recording.tracks import Track
from isoscope.core.replay.fields import take

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.control_steps import Column, ControlSteps
    from isoscope.core.recording.tracks import Array

SAMPLE = 256  # rows that the components are found by, at most
NEAR = 4096  # native steps that these lie within: what is no component is not read
NEARLY_ALL = 0.9
WIDEST = 256  # components
MOST_NUMBERS = 4096  # native ones
# One field of actors that are called alike, each of another scene.
Alike: TypeAlias = tuple[Track, ...]


def unlike_natives(steps: ControlSteps, told: Column) -> Iterator[Changed]:
    """Yield rows whose observation is another form of what the scene held."""
    width = told.values.shape[1]
    table = steps.table
    rows = np.flatnonzero(steps.acts & told.there & (table.last_row >= 0))
    if told.values.dtype.kind != "f" or not 2 <= width <= WIDEST or len(rows) < 8:
        return
    some = rows[table.last_row[rows] < table.last_row[rows[0]] + NEAR]
    found = _matching(steps, told, some[:: max(1, len(some) // SAMPLE)])
    components = [j for j, match in enumerate(found) if match is not None]
    if not components:
        return
    kind = told.values.dtype
    seen = told.values[rows][:, components]
    should = np.stack(
        [_numbers(m[0], m[1], table.last_row[rows], kind) for m in found if m], axis=1
    )
    odd = np.flatnonzero((seen != should).any(axis=1) & np.isfinite(should).all(axis=1))
    if len(odd) > (1 - NEARLY_ALL) * len(rows):
        return
    for what, how, at in _forms(told.values[rows[odd]], seen[odd], should[odd]):
        yield Changed(what, how, rows[odd[at]], 1.0)


def _matching(
    steps: ControlSteps, told: Column, rows: Array
) -> list[tuple[Alike, int] | None]:
    """For each component the native field and number that it is, where it is one."""
    width, kind = told.values.shape[1], told.values.dtype
    best: list[tuple[Alike, int] | None] = [None] * width
    share = np.full(width, NEARLY_ALL)
    seen = told.values[rows]
    varies = np.array([len(np.unique(seen[:, j])) > 2 for j in range(width)])
    at = steps.table.last_row[rows]
    numbers = 0
    for tracks in _alike(steps):
        numbers += sum(int(np.prod(track.shape, dtype=np.int64)) for track in tracks)
        if numbers > MOST_NUMBERS:
            break
        low, stop = int(at.min()), int(at.max()) + 1
        flat = np.zeros((len(rows), *tracks[0].shape), kind).reshape(len(rows), -1)
        there = np.zeros(len(rows), np.bool_)
        for track in tracks:
            read = track.read(low, stop)
            has = np.asarray(read.valid[at - low])
            flat[has] = read.values[at[has] - low].reshape(-1, flat.shape[1])
            there |= has
        if there.mean() < NEARLY_ALL:
            continue
        equal = (seen[there, :, None] == flat[there, None, :]).mean(axis=0)
        for j in np.flatnonzero(varies & (equal.max(axis=1) > share)).tolist():
            share[j] = equal[j].max()
            best[j] = tracks, int(np.argmax(equal[j]))
    return best


def _alike(steps: ControlSteps) -> list[Alike]:
    """Fields of the state that are one field, of scenes that are made alike.

    Each environment's own scene has actors of its own; which number of them is a
    component of the observation, is the same in all.
    """
    labelled = steps.window.labelled
    seen: dict[tuple[str, int], int] = {}
    which: dict[int, tuple[str, int]] = {}
    for number, actor in sorted(labelled.actors.items()):
        of_scene = actor.info.name, actor.info.scene
        which[number] = actor.info.name, seen.get(of_scene, 0)
        seen[of_scene] = which[number][1] + 1
    found: dict[object, list[Track]] = {}
    for key, track in labelled.fields.items():
        if key.over != "native" or key.group != "state":
            continue
        if isinstance(track, Track) and track.dtype.kind == "f":
            whose = which.get(key.actor, key.actor)
            one = whose, key.name, track.shape, track.dtype
            found.setdefault(one, []).append(track)
    return [tuple(tracks) for tracks in found.values()]


def _numbers(tracks: Alike, index: int, rows: Array, kind: np.dtype) -> Array:
    out = np.full(len(rows), np.nan, kind)
    for track in tracks:
        values, there = take(track, rows)
        if there.any():  # another environment's may have none of these rows
            out[there] = values[there].reshape(int(there.sum()), -1)[:, index]
    return out


def _forms(
    whole: Array, seen: Array, should: Array
) -> Iterator[tuple[str, str, Array]]:
    """Yield (kind, how, indices) of rows that are a form of what they should be.

    Components that are nothing native may be anything, so an order is told by those
    that are: all of them stand somewhere in the observation.
    """
    left = np.ones(len(seen), np.bool_)
    half = np.clip(should, -HALF_MAX, HALF_MAX).astype(np.float16).astype(should.dtype)
    hit = (seen == half).all(axis=1)
    if hit.any():
        yield "dtype", "rounded to half precision", np.flatnonzero(hit)
    left &= ~hit
    somewhere = (whole[:, :, None] == should[:, None, :]).any(axis=1).all(axis=1)
    hit = left & somewhere
    if hit.any():
        yield "order", "with its numbers in another order", np.flatnonzero(hit)
    left &= ~hit
    for factor, how in FACTORS.items():
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = should.astype(np.float64) * factor
            # No absolute tolerance: what is next to nothing is near all that is, too.
            near = np.isclose(seen, scaled, rtol=1e-5, atol=0)
        near &= seen != should
        hit = left & (near | (seen == should)).all(axis=1) & near.any(axis=1)
        if hit.any():
            yield "unit", how, np.flatnonzero(hit)
            left &= ~hit
