"""Read one event through libhdf5, object by object, without leaving the file.

Only hard links are followed, and never in a circle. A dataset whose bytes lie in
another file (external storage, virtual datasets) is not read, and neither is a value
that claims more bytes than a sane one has; each is reported, so that nothing is
silently missing.

*Plain* values are numbers and fixed-length strings, in attributes or in contiguous or
compact datasets: all that the recorder writes. libhdf5 was fuzzed on damaged plain
files without a fault, while damaged chunks, filters and strings of variable length
crash it or never come back (a checksum of a chunk shorter than the checksum reads out
of bounds; a global heap object of size 0 loops). In this process what is not plain is
refused by raising :class:`NotPlainError`, and is read in another one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import h5py
import numpy as np
from h5py import h5, h5a, h5d, h5g, h5l, h5o, h5s, h5t

from isoscope.core.errors import one_line
from isoscope.core.recording.superdex.chunks import short_chunk
from isoscope.core.recording.superdex.events import Event
from isoscope.core.recording.superdex.values import plain_name, storable

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.recording.tracks import Array

# Called with (message, path inside the file).
Tell: TypeAlias = "Callable[[str, str], None]"

MAX_VALUE_BYTES = 1 << 28
MAX_EVENT_BYTES = 1 << 29
MAX_EXPANSION = 2000  # claimed bytes per stored byte: above gzip's best
MAX_DEPTH = 4
MAX_OBJECTS = 100_000  # in one event: groups and datasets

# What h5py raises for damaged content.
H5_ERRORS = (OSError, KeyError, RuntimeError, ValueError, TypeError, UnicodeError)
_READ_ERRORS = (*H5_ERRORS, MemoryError, OverflowError, NotImplementedError)
_PLAIN_CLASSES = frozenset((h5t.INTEGER, h5t.FLOAT, h5t.STRING))


class NotPlainError(Exception):
    """A value that must not be read in this process; never reaches the user."""


class _EnoughError(Exception):
    """The event holds more than one event can."""


def read_event(
    events: h5py.Group,
    number: int,
    tell: Tell,
    *,
    lost: Tell | None = None,
    plain_only: bool = False,
    careful: bool = False,
    beat: Callable[[], None] | None = None,
) -> Event | None:
    """Read the event of this number whole; None (and told) if it can't be opened.

    Parameters
    ----------
    events
        The group that holds it.
    number
        Its number, which is its name.
    tell
        Called with what is odd.
    lost
        Called with what could not be read; `tell` by default.
    plain_only
        Refuse the event if it holds a value that is not plain.
    careful
        Pass over values that are not plain, and tell it.
    beat
        Called before each object, so that somebody may watch how long one takes.

    Raises
    ------
    NotPlainError
        With `plain_only`.
    """
    walk = _Walk(tell, lost or tell, plain_only, careful)
    walk.beat = beat
    return walk.event(events.id, str(number).encode(), number)


class _Walk:
    """One walk through one event."""

    def __init__(self, tell: Tell, lost: Tell, plain_only: bool, careful: bool) -> None:
        self.tell = tell
        self.lost = lost
        self.plain_only = plain_only
        self.careful = careful
        self.beat: Callable[[], None] | None = None
        self.objects = 0
        self.bytes = 0

    def event(self, events: h5g.GroupID, name: bytes, number: int) -> Event | None:
        where = f"/events/{number}"
        try:
            link = events.links.get_info(name)
        except H5_ERRORS:
            self.lost("event is missing", where)
            return None
        if link.type != h5l.TYPE_HARD:
            self.tell("event is a link out of the file and was not followed", where)
            return None
        try:
            group = h5o.open(events, name)
        except H5_ERRORS as error:
            self.lost(f"event can't be opened: {plain_error(error)}", where)
            return None
        if not isinstance(group, h5g.GroupID):
            self.lost("event is no group", where)
            return None
        event = Event(number, {})
        try:
            self._fields(group, where, "", event.fields, (link.u,), event.actors)
        except _EnoughError:
            self.lost("event holds more than one event can: read in part", where)
        return event

    # -- groups ---------------------------------------------------------------------

    def _fields(
        self,
        group: h5g.GroupID,
        where: str,
        prefix: str,
        out: dict[str, Array],
        path: tuple[int, ...],
        actors: dict[str, dict[str, Array]] | None = None,
    ) -> None:
        self._attributes(group, where, prefix, out)
        for raw, address in self._children(group, where):
            name = plain_name(raw)
            here = f"{where}/{name}"
            child = self._open(group, raw, address, here, path)
            if isinstance(child, h5d.DatasetID):
                self._put(out, prefix + name, self._dataset(child, here), here)
                self._attributes(child, here, f"{prefix}{name}@", out)
            elif not isinstance(child, h5g.GroupID):
                if child is not None:
                    self.tell("object of unknown kind was passed over", here)
            elif actors is not None and raw == b"actors":
                self._attributes(child, here, "actors@", out)
                self._actors(child, here, actors, (*path, address))
            elif len(path) > MAX_DEPTH:
                self.tell(f"groups nested deeper than {MAX_DEPTH}: passed over", here)
            else:
                self._fields(child, here, f"{prefix}{name}/", out, (*path, address))

    def _actors(
        self,
        group: h5g.GroupID,
        where: str,
        out: dict[str, dict[str, Array]],
        path: tuple[int, ...],
    ) -> None:
        for raw, address in self._children(group, where):
            name = plain_name(raw)
            here = f"{where}/{name}"
            child = self._open(group, raw, address, here, path)
            if isinstance(child, h5g.GroupID):
                fields = out[name] = {}
                self._fields(child, here, "", fields, (*path, address))
            elif child is not None:
                self.lost("actor is no group", here)

    def _children(self, group: h5g.GroupID, where: str) -> list[tuple[bytes, int]]:
        """Names and addresses of hard links; what can't be listed is told."""
        found: list[tuple[bytes, int]] = []
        others = 0

        def take(name: bytes, link: h5l.LinkInfo) -> None:
            nonlocal others
            if link.type == h5l.TYPE_HARD:
                found.append((name, link.u))
            else:
                others += 1

        try:
            tracked = group.get_create_plist().get_link_creation_order()
            order = h5.INDEX_CRT_ORDER if tracked else h5.INDEX_NAME
            group.links.iterate(take, idx_type=order, info=True)
        except H5_ERRORS as error:
            self.lost(f"children can't be listed: {plain_error(error)}", where)
        if others:
            self.tell("link that leads elsewhere was not followed", where)
        return found

    def _open(
        self,
        group: h5g.GroupID,
        name: bytes,
        address: int,
        where: str,
        path: tuple[int, ...],
    ) -> h5g.GroupID | h5d.DatasetID | h5t.TypeID | None:
        self.objects += 1
        if self.objects > MAX_OBJECTS:
            raise _EnoughError
        if self.beat is not None:
            self.beat()
        if address in path:
            self.tell("group that contains itself was passed over", where)
            return None
        try:
            return h5o.open(group, name)
        except H5_ERRORS as error:
            self.lost(f"object can't be opened: {plain_error(error)}", where)
            return None

    # -- values ---------------------------------------------------------------------

    def _put(self, out: dict[str, Array], name: str, value: object, where: str) -> None:
        if value is None:
            return
        parts, refused = storable(value)
        if refused:
            self.tell(f"{name!r} {refused}", where)
        for suffix, part in parts.items():
            if name + suffix in out:
                self.tell(f"{name!r} is there twice: the later one was dropped", where)
                continue
            out[name + suffix] = part

    def _fits(self, size: int, stored: int, what: str, where: str) -> bool:
        if size > MAX_VALUE_BYTES or size > MAX_EXPANSION * max(stored, 64):
            self.lost(f"{what} claims {size} bytes, stores {stored}: not read", where)
            return False
        self.bytes += size
        if self.bytes > MAX_EVENT_BYTES:
            raise _EnoughError
        return True

    def _risk(self, what: str, where: str) -> bool:
        """Whether to read a value that is not plain."""
        if self.plain_only:
            raise NotPlainError
        if self.careful:
            self.lost(f"{what} may crash the HDF5 library: passed over", where)
        return not self.careful

    def _attributes(
        self,
        owner: h5g.GroupID | h5d.DatasetID,
        where: str,
        prefix: str,
        out: dict[str, Array],
    ) -> None:
        names: list[bytes] = []
        try:
            h5a.iterate(owner, names.append)
        except H5_ERRORS as error:
            self.lost(f"attributes can't be listed: {plain_error(error)}", where)
        for raw in names:
            name = plain_name(raw)
            try:
                value = self._attribute(owner, raw, name, where)
            except _READ_ERRORS as error:
                why = plain_error(error)
                self.lost(f"attribute {name!r} can't be read: {why}", where)
                continue
            self._put(out, prefix + name, value, where)

    def _attribute(
        self, owner: h5g.GroupID | h5d.DatasetID, raw: bytes, name: str, where: str
    ) -> object:
        attribute = h5a.open(owner, raw)
        space, kind = attribute.get_space(), attribute.get_type()
        if space.get_simple_extent_type() == h5s.NULL:
            return h5py.Empty(np.dtype("u1"))
        plain = is_plain(kind)
        if not (plain or self._risk(f"attribute {name!r}", where)):
            return None
        shape, dtype = space.shape, kind.dtype
        size = _product(shape) * dtype.itemsize
        # An attribute lies in its object's header or heap, never unwritten.
        if not self._fits(size, size, f"attribute {name!r}", where):
            return None
        if plain:
            value = np.empty(shape, dtype)
            attribute.read(value, _in_memory(dtype))
            return value
        high = h5py.Group if isinstance(owner, h5g.GroupID) else h5py.Dataset
        return high(owner).attrs[raw]

    def _dataset(self, dataset: h5d.DatasetID, where: str) -> object:
        try:
            return self._dataset_value(dataset, where)
        except _READ_ERRORS as error:
            self.lost(f"dataset can't be read: {plain_error(error)}", where)
            return None

    def _dataset_value(self, dataset: h5d.DatasetID, where: str) -> object:
        recipe = dataset.get_create_plist()
        layout = recipe.get_layout()
        if layout == h5d.VIRTUAL or recipe.get_external_count():
            self.tell("dataset lies in another file and was not followed", where)
            return None
        space, kind = dataset.get_space(), dataset.get_type()
        if space.get_simple_extent_type() == h5s.NULL:
            return h5py.Empty(np.dtype("u1"))
        plain = layout in (h5d.CONTIGUOUS, h5d.COMPACT) and is_plain(kind)
        if not (plain or self._risk("dataset", where)):
            return None
        shape, dtype = space.shape, kind.dtype
        size = _product(shape) * dtype.itemsize
        if not self._fits(size, int(dataset.get_storage_size()), "dataset", where):
            return None
        if plain:
            value = np.empty(shape, dtype)
            if value.size:
                dataset.read(h5s.ALL, h5s.ALL, value, _in_memory(dtype))
            return value
        if layout == h5d.CHUNKED and (short := short_chunk(dataset, kind.get_size())):
            self.lost(f"dataset can't be read: {short}", where)
            return None
        return h5py.Dataset(dataset)[()]


@lru_cache(maxsize=256)
def _in_memory(dtype: np.dtype[np.generic]) -> h5t.TypeID:
    """The library's own name for a dtype; making one takes as long as a read."""
    return h5t.py_create(dtype)


def is_plain(kind: h5t.TypeID) -> bool:
    """Whether values of this type may be read in this process."""
    cls = kind.get_class()
    if cls not in _PLAIN_CLASSES:
        return False
    return cls != h5t.STRING or not kind.is_variable_str()


def plain_error(error: BaseException) -> str:
    """The library's message as one line, without the quotes of a KeyError."""
    if isinstance(error, KeyError) and error.args:
        return one_line(error.args[0])
    return one_line(error) or type(error).__name__


def _product(shape: tuple[int, ...]) -> int:
    size = 1
    for length in shape:
        size *= int(length)
    return size
