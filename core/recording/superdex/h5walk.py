"""Read one event through h5py, object by object, without leaving the file.

Only hard links are followed. A dataset whose bytes lie in another file (external
storage, virtual datasets) is not read, and neither is one that claims more bytes than
a sane value has; each is reported, so that nothing is silently missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import h5py
import numpy as np

from isoscope.core.errors import one_line
from isoscope.core.recording.superdex.events import Event

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.recording.tracks import Array

MAX_VALUE_BYTES = 1 << 28
MAX_EXPANSION = 2000  # claimed bytes per stored byte: above gzip's best
MAX_DEPTH = 4

# What h5py raises for damaged content.
H5_ERRORS = (OSError, KeyError, RuntimeError, ValueError, TypeError, UnicodeError)

# Called with (message, path inside the file).
Tell = "Callable[[str, str], None]"


def read_event(
    events: h5py.Group, number: int, tell: Callable[[str, str], None]
) -> Event | None:
    """Read the event of this number whole; None (and told) if it can't be opened."""
    where = f"/events/{number}"
    try:
        link = events.get(str(number), getlink=True)
        if link is None:
            tell("event is missing", where)
            return None
        if not isinstance(link, h5py.HardLink):
            tell("event is a link out of the file and was not followed", where)
            return None
        group = events[str(number)]
    except H5_ERRORS as error:
        tell(f"event can't be opened: {one_line(error)}", where)
        return None
    if not isinstance(group, h5py.Group):
        tell("event is no group", where)
        return None
    event = Event(number, {})
    _read_fields(group, where, "", event.fields, tell, event.actors)
    return event


def _read_fields(
    group: h5py.Group,
    where: str,
    prefix: str,
    out: dict[str, Array],
    tell: Callable[[str, str], None],
    actors: dict[str, dict[str, Array]] | None = None,
    depth: int = 0,
) -> None:
    _read_attributes(group, where, prefix, out, tell)
    try:
        names = list(group)
    except H5_ERRORS as error:
        tell(f"children can't be listed: {one_line(error)}", where)
        return
    for name in names:
        here = f"{where}/{name}"
        try:
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                tell("link out of the file was not followed", here)
                continue
            child = group[name]
        except H5_ERRORS as error:
            tell(f"object can't be opened: {one_line(error)}", here)
            continue
        if isinstance(child, h5py.Dataset):
            value = _read_dataset(child, here, tell)
            if value is not None:
                out[prefix + name] = value
            _read_attributes(child, here, f"{prefix}{name}@", out, tell)
        elif not isinstance(child, h5py.Group):
            tell("object of unknown kind was passed over", here)
        elif actors is not None and name == "actors":
            _read_actors(child, here, actors, tell)
        elif depth >= MAX_DEPTH:
            tell(f"groups nested deeper than {MAX_DEPTH} were passed over", here)
        else:
            _read_fields(child, here, f"{prefix}{name}/", out, tell, None, depth + 1)


def _read_actors(
    group: h5py.Group,
    where: str,
    out: dict[str, dict[str, Array]],
    tell: Callable[[str, str], None],
) -> None:
    try:
        names = list(group)
    except H5_ERRORS as error:
        tell(f"actors can't be listed: {one_line(error)}", where)
        return
    for name in names:
        here = f"{where}/{name}"
        try:
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                tell("link out of the file was not followed", here)
                continue
            child = group[name]
        except H5_ERRORS as error:
            tell(f"object can't be opened: {one_line(error)}", here)
            continue
        if not isinstance(child, h5py.Group):
            tell("actor is no group", here)
            continue
        fields = out[name] = {}
        _read_fields(child, here, "", fields, tell)


def _read_attributes(
    owner: h5py.Group | h5py.Dataset,
    where: str,
    prefix: str,
    out: dict[str, Array],
    tell: Callable[[str, str], None],
) -> None:
    try:
        names = list(owner.attrs)
    except H5_ERRORS as error:
        tell(f"attributes can't be listed: {one_line(error)}", where)
        return
    for name in names:
        try:
            value = np.asarray(owner.attrs[name])
        except H5_ERRORS as error:
            tell(f"attribute {name!r} can't be read: {one_line(error)}", where)
            continue
        out[prefix + name] = value


def _read_dataset(
    dataset: h5py.Dataset, where: str, tell: Callable[[str, str], None]
) -> Array | None:
    try:
        if dataset.is_virtual or dataset.external:
            tell("dataset lies in another file and was not followed", where)
            return None
        size, stored = int(dataset.nbytes), int(dataset.id.get_storage_size())
        if size > MAX_VALUE_BYTES or size > MAX_EXPANSION * max(stored, 64):
            tell(f"dataset claims {size} bytes, stores {stored}: not read", where)
            return None
        return np.asarray(dataset[()])
    except (*H5_ERRORS, MemoryError) as error:
        tell(f"dataset can't be read: {one_line(error)}", where)
        return None
