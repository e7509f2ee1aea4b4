"""The fields that two recordings both hold, and their values at chosen rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.schema import XYZW, meaning
from isoscope.core.recording.tracks import Track

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.recording.model import Actor, Recording
    from isoscope.core.recording.tracks import AnyTrack, Array, BoolArray

# What a trajectory is made of. Contacts and distances follow from it, and solver
# fields and identities are names that differ from run to run.
COMPARED = ("pose", "velocity", "target")
Key = tuple[str, int]  # an actor's name, and which of that name it is


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A field that both recordings hold, of an actor that both have.

    Attributes
    ----------
    actor, name, kind, unit
        What it is; the actor's name has its number where several are called so.
    a, b
        Its track in either.
    rotation
        Whether it is a quaternion, so that q and -q are the same.
    """

    actor: str
    name: str
    kind: str
    unit: str | None
    a: Track
    b: Track
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


def common(a: Recording, b: Recording) -> Common:
    """Find the state fields that both hold, by the names of actors and fields."""
    mine, theirs = keyed(a), keyed(b)
    found = Common([], [], [], [], [], [])
    for key, actor in mine.items():
        other = theirs.get(key)
        name = _called(key, mine)
        if other is None:
            if not actor.static:
                found.actors_a.append(name)
            continue
        if actor.static and other.static:
            continue
        _common_fields(found, name, actor, other)
    found.actors_b.extend(
        _called(key, theirs)
        for key, actor in theirs.items()
        if key not in mine and not actor.static
    )
    return found


def keyed(recording: Recording) -> dict[Key, Actor]:
    """Actors by name and, among those of one name, by order of creation."""
    found: dict[Key, Actor] = {}
    seen: dict[str, int] = {}
    for actor in recording.actors:
        number = seen.get(actor.name, 0)
        seen[actor.name] = number + 1
        found[actor.name, number] = actor
    return found


def _called(key: Key, actors: dict[Key, Actor]) -> str:
    name, number = key
    return f"{name} #{number + 1}" if (name, 1) in actors else name


def _common_fields(found: Common, name: str, actor: Actor, other: Actor) -> None:
    mine, theirs = dict(_state_tracks(actor)), dict(_state_tracks(other))
    found.only_a.extend(f"{name}.{field}" for field in mine if field not in theirs)
    found.only_b.extend(f"{name}.{field}" for field in theirs if field not in mine)
    for field, track in mine.items():
        twin = theirs.get(field)
        if twin is None:
            continue
        if not isinstance(track, Track) or not isinstance(twin, Track):
            found.shapes.append(f"{name}.{field}")
            continue
        if track.shape != twin.shape:
            found.shapes.append(f"{name}.{field}")
            continue
        what = meaning(field)
        rotation = what.components == XYZW
        found.fields.append(
            Field(name, field, what.kind, what.unit, track, twin, rotation)
        )


def _state_tracks(actor: Actor) -> Iterator[tuple[str, AnyTrack]]:
    for name, track in actor.fields.tracks.items():
        if meaning(name).kind in COMPARED and track.dtype.kind == "f":
            yield name, track


def take(track: Track, rows: Array) -> tuple[Array, BoolArray]:
    """Values [n, *shape] and whether they are there [n], at any rows int64 [n]."""
    if len(track) == 0:
        shape = (len(rows), *track.shape)
        return np.zeros(shape, track.dtype), np.zeros(len(rows), np.bool_)
    at = rows - track.first
    inside = (at >= 0) & (at < len(track))
    at = np.where(inside, at, 0)
    return track.values[at], track.valid[at] & inside


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
