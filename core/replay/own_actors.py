"""Which actors are an environment's own, where several scenes are in one recording.

Scenes of one task name their actors alike: the second environment's ``Pole`` is the
second actor of that name in the file, and still that environment's first. So actors are
told apart by their name and their place among those of this name that the environment
has, and what environments call alike is one field, read at each row from whose it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.schema import meaning
from isoscope.core.recording.tracks import Track

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from isoscope.core.isolation.context import Examined
    from isoscope.core.recording.model import Actor
    from isoscope.core.recording.tracks import AnyTrack, Array, BoolArray, Int64Array

# What a trajectory is made of. Contacts and distances follow from it, and solver
# fields and identities are names that differ from run to run.
COMPARED = ("pose", "velocity", "target")
# An actor's name, and which of that name it is among those of its environment.
Key = tuple[str, int]


@dataclass(frozen=True, slots=True, eq=False)
class OwnTracks:
    """One field of actors that are called alike, each environment's own.

    Attributes
    ----------
    tracks
        Of one dtype and shape.
    which
        int64 [rows]: the track of the row's environment; -1 where it has none.
    """

    tracks: tuple[Track, ...]
    which: Int64Array

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the values."""
        return self.tracks[0].dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one row."""
        return self.tracks[0].shape

    def take(self, rows: Array) -> tuple[Array, BoolArray]:
        """Values [n, *shape] and whether they are there [n], at any rows int64 [n]."""
        values = np.zeros((len(rows), *self.shape), self.dtype)
        valid = np.zeros(len(rows), np.bool_)
        whose = self.which[rows]
        for number, track in enumerate(self.tracks):
            at = np.flatnonzero(whose == number)
            if len(at):
                values[at], valid[at] = taken(track, rows[at])
        return values, valid


@dataclass(frozen=True, slots=True, eq=False)
class OwnActors:
    """Actors that are called alike, each of other environments.

    Attributes
    ----------
    actors
        One at least, in order of creation.
    which
        int64 [rows]: the place in `actors` of the row's environment's; None where there
        is one actor only.
    """

    actors: tuple[Actor, ...]
    which: Int64Array | None = None

    @property
    def actor(self) -> Actor:
        """The first, which says what they are."""
        return self.actors[0]

    def tracks(self) -> dict[str, Track | OwnTracks | None]:
        """The fields of their states, by name; None for what is not one array a row."""
        each = [dict(state_tracks(actor)) for actor in self.actors]
        names = dict.fromkeys(name for own in each for name in own)
        return {name: self._one(name, each) for name in names}

    def _one(
        self, name: str, each: list[dict[str, AnyTrack]]
    ) -> Track | OwnTracks | None:
        """What is one field of all of them, as far as they have it."""
        tracks: list[Track] = []
        places = np.full(len(each) + 1, -1, np.int64)  # the last is for nobody's, -1
        for k, own in enumerate(each):
            track = own.get(name)
            if track is None:
                continue
            if not isinstance(track, Track):
                return None
            if tracks and (track.dtype, track.shape) != (
                tracks[0].dtype,
                tracks[0].shape,
            ):
                return None
            places[k] = len(tracks)
            tracks.append(track)
        if self.which is None:
            return tracks[0]
        return OwnTracks(tuple(tracks), places[self.which])


def keyed(examined: Examined) -> dict[Key, OwnActors]:
    """Actors by name and, among those of one name that an environment has, by order.

    An actor of which no state was recorded in any row counts as every environment's.
    """
    recording = examined.recording
    alike: dict[str, list[Actor]] = {}
    for actor in recording.actors:
        alike.setdefault(actor.name, []).append(actor)
    found: dict[Key, OwnActors] = {}
    env = examined.attribution.labels.env
    for name, actors in alike.items():
        if len(actors) == 1:
            found[name, 0] = OwnActors(tuple(actors))
            continue
        for number, (own, which) in enumerate(_by_environment(actors, env)):
            found[name, number] = OwnActors(own, which)
    return found


def _by_environment(
    actors: list[Actor], env: Array
) -> Iterator[tuple[tuple[Actor, ...], Int64Array | None]]:
    """Actors of one name, first every environment's first, then its second, ..."""
    shift = 1  # steps of nobody known, -1, are at place 0
    several = int(env.max(initial=-1)) + 1 + shift
    has = np.stack([_has(actor, env, shift, several) for actor in actors])
    # Its place among those of its environment: [actors, environments].
    place = np.where(has, np.cumsum(has, axis=0) - 1, -1)
    for number in range(int(place.max(initial=0)) + 1):
        chosen = np.flatnonzero((place == number).any(axis=1))
        own = tuple(actors[int(k)] for k in chosen)
        if len(own) == 1:
            yield own, None
            continue
        of_env = np.full(several, -1, np.int64)
        for at, k in enumerate(chosen):
            of_env[place[k] == number] = at
        yield own, np.asarray(of_env[env + shift])


def _has(actor: Actor, env: Array, shift: int, several: int) -> BoolArray:
    """Bool [environments]: in whose rows a state of this actor was recorded."""
    found = np.zeros(several, np.bool_)
    seen = False
    for _, track in state_tracks(actor):
        if not isinstance(track, Track) or not len(track):
            continue
        rows = track.first + np.flatnonzero(track.valid)
        rows = rows[rows < len(env)]
        found[env[rows] + shift] = True
        seen = seen or bool(len(rows))
    return found if seen else ~found


def state_tracks(actor: Actor) -> Iterator[tuple[str, AnyTrack]]:
    """The fields of an actor that a trajectory is made of."""
    for name, track in actor.fields.tracks.items():
        if meaning(name).kind in COMPARED and track.dtype.kind == "f":
            yield name, track


def taken(track: Track, rows: Array) -> tuple[Array, BoolArray]:
    """Values [n, *shape] and whether they are there [n], at any rows int64 [n]."""
    if len(track) == 0:
        shape = (len(rows), *track.shape)
        return np.zeros(shape, track.dtype), np.zeros(len(rows), np.bool_)
    at = rows - track.first
    inside = (at >= 0) & (at < len(track))
    at = np.where(inside, at, 0)
    return track.values[at], track.valid[at] & inside
