"""Keeps what a model predicted, step by step, to be looked at beside the recording."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.tracks import Track
from isoscope.core.replay.fields import take

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.isolation.context import Examined
    from isoscope.core.recording.tracks import Array
    from isoscope.core.replay.stand_in.fitting import FieldPair
    from isoscope.core.replay.stand_in.predicting import Compared, Predicted
    from isoscope.core.replay.states import Keeper

PLACE, CENTRE, TURN = "translation", "translationCom", "rotation"


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """One field's predictions in order of rows: int64 [n], and float64 [n, D] each."""

    rows: Array
    recorded: Array
    predicted: Array

    @classmethod
    def of(cls, one: Compared) -> _Column:
        order = np.argsort(one.rows, kind="stable")
        return cls(
            np.array(one.rows, np.int64)[order],
            np.array(one.recorded)[order],
            np.array(one.predicted)[order],
        )


def keep(
    examined: Examined,
    fields: list[FieldPair],
    found: Predicted,
    tolerances: Mapping[str, float],
    keeper: Keeper,
) -> None:
    """Hand predictions to a keeper, by environment.

    Where the engine lays a body's frame elsewhere than the model does, so that its
    place could not be compared, the place follows from the predicted centre and turn,
    with the frame as the recording has it; it is kept to be drawn, not compared.

    Parameters
    ----------
    fields
        What was compared, a field for each of `found.fields`.
    tolerances
        By field's name, in its unit.
    """
    envs = examined.attribution.labels.env
    columns: dict[tuple[str, str], _Column] = {}
    for pair, one in zip(fields, found.fields, strict=True):
        if not one.rows:
            continue
        column = columns[pair.actor, pair.name] = _Column.of(one)
        allowed = tolerances.get(pair.name)
        for env in np.unique(envs[column.rows]).tolist():
            mine = envs[column.rows] == env
            rows = column.rows[mine]
            recorded, here = column.recorded[mine], column.predicted[mine]
            there = np.ones(len(rows), np.bool_)
            keeper.take(env, pair, rows, recorded, here, there, allowed)
    for actor in examined.recording.actors:
        track = actor.fields.tracks.get(PLACE)
        centre = columns.get((actor.name, CENTRE))
        turn = columns.get((actor.name, TURN))
        if (actor.name, PLACE) in columns or not isinstance(track, Track):
            continue
        if centre is not None and turn is not None:
            placed = _placed(track, centre, turn)
            if placed is not None:
                keeper.draw(track, centre.rows, placed)


def _placed(track: Track, centre: _Column, turn: _Column) -> Array | None:
    """Where the body's frame is: float64 [n, 3] [m]; None where that isn't known."""
    if not np.array_equal(centre.rows, turn.rows):
        return None
    place, there = take(track, centre.rows)
    if not there.all():
        return None
    off = place.reshape(len(place), -1) - centre.recorded
    own = _turned(turn.recorded * (-1.0, -1.0, -1.0, 1.0), off)
    placed: Array = centre.predicted + _turned(turn.predicted, own)
    return placed


def _turned(quaternions: Array, vectors: Array) -> Array:
    """Vectors [n, 3] turned by x y z w quaternions [n, 4]."""
    axis, w = quaternions[:, :3], quaternions[:, 3:]
    twice = 2.0 * np.cross(axis, vectors)
    found: Array = vectors + w * twice + np.cross(axis, twice)
    return found
