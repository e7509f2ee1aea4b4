"""The fields that two recordings both hold, and their values at chosen rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.schema import XYZW, meaning
from isoscope.core.replay.own_actors import COMPARED, OwnTracks, keyed, taken

if TYPE_CHECKING:
    from isoscope.core.isolation.context import Examined
    from isoscope.core.recording.tracks import Array, BoolArray, Track
    from isoscope.core.replay.own_actors import Key, OwnActors

__all__ = ["COMPARED", "Common", "Field", "common", "states", "take"]


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A field that both recordings hold, of an actor that both have.

    Attributes
    ----------
    actor, name, kind, unit
        What it is; the actor's name has its number where an environment has several
        that are called so.
    a, b
        Its track in either.
    rotation
        Whether it is a quaternion, so that q and -q are the same.
    """

    actor: str
    name: str
    kind: str
    unit: str | None
    a: Track | OwnTracks
    b: Track | OwnTracks
    rotation: bool

    @property
    def full_name(self) -> str:
        """``actor.field``."""
        return f"{self.actor}.{self.name}"


@dataclass(frozen=True, slots=True)
class Common:
    """What two recordings have in common, and what only one of them has.

    Attributes
    ----------
    fields
        What can be compared.
    only_a, only_b
        Full names of compared fields of actors that both have, in one only.
    shapes
        Full names of fields whose shapes differ, or whose rows differ in shape.
    actors_a, actors_b
        Actors that move, in one only.
    """

    fields: list[Field]
    only_a: list[str]
    only_b: list[str]
    shapes: list[str]
    actors_a: list[str]
    actors_b: list[str]


def common(a: Examined, b: Examined) -> Common:
    """Find the state fields that both hold, by the names of actors and fields."""
    mine, theirs = keyed(a), keyed(b)
    found = Common([], [], [], [], [], [])
    for key, actors in mine.items():
        others = theirs.get(key)
        name = _called(key, mine)
        if others is None:
            if not actors.actor.static:
                found.actors_a.append(name)
            continue
        if actors.actor.static and others.actor.static:
            continue
        _common_fields(found, name, actors, others)
    found.actors_b.extend(
        _called(key, theirs)
        for key, actors in theirs.items()
        if key not in mine and not actors.actor.static
    )
    return found


def _called(key: Key, actors: dict[Key, OwnActors]) -> str:
    name, number = key
    return f"{name} #{number + 1}" if (name, 1) in actors else name


def _common_fields(
    found: Common, name: str, actors: OwnActors, others: OwnActors
) -> None:
    mine, theirs = actors.tracks(), others.tracks()
    found.only_a.extend(f"{name}.{field}" for field in mine if field not in theirs)
    found.only_b.extend(f"{name}.{field}" for field in theirs if field not in mine)
    for field, track in mine.items():
        if field not in theirs:
            continue
        twin = theirs[field]
        if track is None or twin is None or track.shape != twin.shape:
            found.shapes.append(f"{name}.{field}")
            continue
        what = meaning(field)
        rotation = what.components == XYZW
        found.fields.append(
            Field(name, field, what.kind, what.unit, track, twin, rotation)
        )


def take(track: Track | OwnTracks, rows: Array) -> tuple[Array, BoolArray]:
    """Values [n, *shape] and whether they are there [n], at any rows int64 [n]."""
    return track.take(rows) if isinstance(track, OwnTracks) else taken(track, rows)


def states(fields: list[Field], side: str, rows: Array) -> Array:
    """float64 [n, D]: all fields of one side ("a" or "b") at rows; NaN where absent."""
    columns = [np.zeros((len(rows), 0))]
    for field in fields:
        values, valid = take(field.a if side == "a" else field.b, rows)
        width = int(np.prod(values.shape[1:], dtype=np.int64))
        flat = values.reshape(len(rows), width).astype(np.float64)
        flat[~valid] = np.nan
        columns.append(flat + 0.0)  # -0.0 and 0.0 are one place
    return np.concatenate(columns, axis=1)
