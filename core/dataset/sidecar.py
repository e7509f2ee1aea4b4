"""What a format has no place for: roles, units, limits, ids, kept beside the data.

Every dataset that is exported here carries this description, as JSON. The format's own
clients pass over it. A reader takes from it only what the data itself doesn't say, and
only where it fits the data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from isoscope.core.dataset.model import Episode, Feature
from isoscope.core.jsonform import decode, encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

SCHEMA = "isoscope.dataset/1"
MAX_BYTES = 1 << 28
ROLES = (
    "observation",
    "action",
    "raw_action",
    "reward",
    "reward_term",
    "terminated",
    "truncated",
    "state",
    "info",
    "image",
    "time",
)


class FeatureNote(msgspec.Struct):
    """A column, as `Feature` has it; `dtype` is NumPy's word."""

    name: str
    role: str
    dtype: str
    shape: list[int] = []
    names: list[str] = []
    units: list[str | None] = []
    low: list[float] | None = None
    high: list[float] | None = None
    per: str = "step"
    about: str = ""


class EpisodeNotes(msgspec.Struct):
    """What is known of the episodes: a list a field, an entry an episode."""

    id: list[str] = []
    length: list[int] = []
    env: list[int | None] = []
    number: list[int | None] = []
    terminated: list[bool | None] = []
    truncated: list[bool | None] = []
    complete: list[bool] = []
    final: list[bool] = []
    seed: list[int | str | None] = []  # text where it is beyond 64 bits
    task: list[str] = []
    native: list[tuple[int, int] | None] = []

    def fits(self) -> bool:
        """Whether all lists are of one length."""
        return len({len(getattr(self, n)) for n in self.__struct_fields__}) == 1


class Sidecar(msgspec.Struct):
    """The description that goes with an exported dataset."""

    format: str
    features: list[FeatureNote]
    episodes: EpisodeNotes
    control_hz: float | None = None
    identity: dict[str, Any] = {}
    splits: dict[str, list[int]] = {}
    derived: list[str] = []  # columns that the format wants, made of others
    schema: str = SCHEMA


def describe(
    format: str,
    features: Iterable[Feature],
    episodes: Iterable[Episode],
    control_hz: float | None,
    identity: Mapping[str, Any],
    splits: Mapping[str, Sequence[int]],
    derived: Sequence[str] = (),
) -> bytes:
    """Write the description as JSON."""
    notes = EpisodeNotes()
    for episode in episodes:
        for name in notes.__struct_fields__:
            value = getattr(episode, name)
            if name == "seed" and value is not None and not -(2**63) <= value < 2**63:
                value = str(value)
            getattr(notes, name).append(value)
    told = Sidecar(
        format,
        [_note(feature) for feature in features],
        notes,
        control_hz,
        dict(identity),
        {name: list(chosen) for name, chosen in splits.items()},
        list(derived),
    )
    return encode(told)


def _note(feature: Feature) -> FeatureNote:
    return FeatureNote(
        feature.name,
        feature.role,
        np.dtype(feature.dtype).str,
        list(feature.shape),
        list(feature.names),
        list(feature.units),
        None if feature.low is None else [float(x) for x in feature.low],
        None if feature.high is None else [float(x) for x in feature.high],
        feature.per,
        feature.about,
    )


def parse(content: bytes) -> Sidecar | None:
    """Read a description; None where it is none that can be used."""
    if len(content) > MAX_BYTES:
        return None
    try:
        found = decode(content, Sidecar)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return found if found.schema == SCHEMA and found.episodes.fits() else None


def with_note(feature: Feature, note: FeatureNote) -> Feature:
    """The feature as the data has it, with what only the description says."""
    size = int(np.prod(feature.shape, dtype=np.int64))
    shape = tuple(note.shape)
    if int(np.prod(shape, dtype=np.int64)) != size:
        return feature
    return Feature(
        feature.name,
        note.role if note.role in ROLES else feature.role,  # type: ignore[arg-type]
        feature.dtype,
        shape,
        tuple(note.names) if len(note.names) == size else feature.names,
        tuple(note.units) if len(note.units) in (1, size) else feature.units,
        tuple(note.low) if note.low and len(note.low) == size else feature.low,
        tuple(note.high) if note.high and len(note.high) == size else feature.high,
        "boundary" if note.per == "boundary" else "step",
        note.about,
    )


def episode_of(notes: EpisodeNotes, index: int) -> Episode:
    """The episode of this place, as it is described."""
    seed = notes.seed[index]
    if isinstance(seed, str):
        seed = int(seed) if seed.lstrip("-").isdigit() and len(seed) < 1000 else None
    return Episode(
        index,
        notes.id[index],
        notes.length[index],
        env=notes.env[index],
        number=notes.number[index],
        terminated=notes.terminated[index],
        truncated=notes.truncated[index],
        complete=notes.complete[index],
        final=notes.final[index],
        seed=seed,
        task=notes.task[index],
        native=notes.native[index],
    )
