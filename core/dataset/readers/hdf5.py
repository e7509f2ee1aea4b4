"""Read HDF5 that somebody else made: only what lies in the file itself, in bounds.

External links, soft links, virtual and external datasets, and stored objects are
refused: each can make a library open another file or run somebody's code. What a
dataset claims to hold is checked against what is stored before anything is reserved.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np

from isoscope.core.dataset.readers.h5text import text_of
from isoscope.core.errors import ReadError, one_line

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.recording.tracks import Array

ERRORS = (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError)
READING = "reading"
MAX_RATIO = 1100  # deflate can't pack tighter
SPARE = 1 << 20
MAX_CHUNK = 1 << 28
MAX_LEAVES = 4096
MAX_DEPTH = 8
MAX_TEXT = 1 << 28
MAGIC = b"\x89HDF\r\n\x1a\n"
KEPT_OPEN = 256  # groups and datasets: an episode's, which are asked for again


@dataclass(slots=True)
class _Opened:
    """A group or dataset, and what was seen of it when its values were checked."""

    what: Any
    shape: tuple[int, ...] | None = None
    dtype: np.dtype[Any] | None = None


class Tree:
    """An HDF5 file, opened read-only and without a lock.

    Raises
    ------
    ReadError
        If it can't be opened, and from every method where what is asked for isn't
        there, is refused, or can't be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = threading.RLock()
        self._file: Any = None
        self._opened: OrderedDict[str, _Opened] = OrderedDict()
        try:
            self._file = h5py.File(path, "r", locking=False)
        except ERRORS as error:
            raise ReadError(
                "opening",
                path,
                f"HDF5 that can't be opened: cut or damaged ({one_line(error)})",
                remedy="copy or export it again",
            ) from None
        self._size = path.stat().st_size

    def close(self) -> None:
        """Close the file."""
        with self.lock:
            self._opened.clear()
            file, self._file = self._file, None
            if file is not None:
                try:
                    file.close()
                except ERRORS:  # a damaged file may not even close
                    return

    def _root(self) -> Any:
        if self._file is None:
            raise ReadError(READING, self.path, "it was closed")
        return self._file

    def error(self, problem: object, where: str) -> ReadError:
        """One message about a place in the file."""
        return ReadError(READING, self.path, one_line(problem), where=where)

    def get(self, place: str) -> Any:
        """The group or dataset at a place; every link on the way is a hard one."""
        with self.lock:
            return self._open(place).what

    def _open(self, place: str) -> _Opened:
        at = place.strip("/")
        known = self._opened.get(at)
        if known is not None:
            self._opened.move_to_end(at)
            return known
        if not at:
            return _Opened(self._root())
        above, _, name = at.rpartition("/")
        group = self._open(above).what
        found = self._opened[at] = _Opened(self._step(group, name, place))
        while len(self._opened) > KEPT_OPEN:
            self._opened.popitem(last=False)
        return found

    def _step(self, group: Any, name: str, place: str) -> Any:
        # By h5py's lower interface: its upper one looks the name up three times.
        try:
            encoded = name.encode()
            kind = group.id.links.get_info(encoded).type
            if kind != h5py.h5l.TYPE_HARD:
                what = "an external" if kind == h5py.h5l.TYPE_EXTERNAL else "a"
                raise self.error(f"{what} link, which is not followed", place)
            found = h5py.h5o.open(group.id, encoded)
        except ERRORS as error:
            problem = "damaged" if not isinstance(error, KeyError) else "not there"
            raise self.error(f"{problem} ({one_line(error)})", place) from None
        if isinstance(found, h5py.h5g.GroupID):
            return h5py.Group(found)
        if isinstance(found, h5py.h5d.DatasetID):
            return h5py.Dataset(found)
        return h5py.Datatype(found)

    def kind(self, place: str) -> str:
        """``"group"``, ``"dataset"``, or empty where there is nothing to read."""
        try:
            found = self.get(place)
        except ReadError:
            return ""
        return "group" if isinstance(found, h5py.Group) else "dataset"

    def names(self, place: str) -> list[str]:
        """Names in a group, in the file's order."""
        with self.lock:
            try:
                found = list(self.get(place))
                # One that is no UTF-8 comes as bytes, and is nothing of a format's.
                return [name for name in found if isinstance(name, str)]
            except ERRORS as error:
                raise self.error(error, place) from None

    def attribute(self, place: str, name: str) -> Any:
        """An attribute as a plain value, text for bytes; None where it isn't there."""
        with self.lock:
            try:
                found = self.get(place).attrs
                if name not in found:
                    return None
                kind = h5py.check_string_dtype(found.get_id(name).dtype)
                if kind is not None and kind.length is None:
                    text = text_of(self.path, place, name)
                    if text is None:
                        raise self.error(f"attribute {name} can't be read", place)
                    return text
                value = found[name]
            except ERRORS as error:
                raise self.error(
                    f"attribute {name}: {one_line(error)}", place
                ) from None
        if isinstance(value, h5py.Empty):
            return None
        if isinstance(value, np.ndarray | np.generic):
            value = value.tolist()
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else value

    def shape(self, place: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """Shape and native dtype of a dataset that holds numbers.

        Raises
        ------
        ReadError
            If it holds anything else, or is stored elsewhere.
        """
        with self.lock:
            opened = self._open(place)
            if opened.shape is None or opened.dtype is None:
                opened.shape, opened.dtype = self._checked(opened.what, place)
            return opened.shape, opened.dtype

    def _checked(self, found: Any, place: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
        try:
            if not isinstance(found, h5py.Dataset):
                raise self.error("this is no dataset", place)
            dataset = found.id
            space, told = dataset.get_space(), dataset.get_create_plist()
            null = space.get_simple_extent_type() == h5py.h5s.NULL
            dtype, shape = dataset.dtype, None if null else space.shape
            layout = told.get_layout()
            if layout == h5py.h5d.VIRTUAL or told.get_external_count():
                raise self.error("its values lie in another file: not followed", place)
            if dtype.kind not in "biufcSV" or dtype.hasobject or shape is None:
                raise self.error(f"its values are {dtype}, not numbers", place)
            stored = dataset.get_storage_size()
            held = math.prod(shape) * dtype.itemsize
            chunk = told.get_chunk() if layout == h5py.h5d.CHUNKED else None
        except ERRORS as error:
            raise self.error(error, place) from None
        packed = chunk is not None
        if held > stored * (MAX_RATIO if packed else 1) + SPARE * packed:
            raise self.error(
                f"it claims {held:,} bytes in {stored:,} of the file", place
            )
        if chunk and math.prod(chunk) * dtype.itemsize > MAX_CHUNK:
            raise self.error(f"its pieces of {chunk} are too large to read", place)
        return tuple(shape), dtype.newbyteorder("=")

    def rows(self, place: str, start: int, stop: int) -> Array:
        """Rows start .. stop of a dataset of numbers, native byte order."""
        with self.lock:
            shape, dtype = self.shape(place)
            if not shape or stop > shape[0]:
                there = shape[0] if shape else "no"
                raise self.error(
                    f"it has {there} rows, but rows up to {stop} are asked for", place
                )
            values = np.empty((stop - start, *shape[1:]), dtype)
            try:
                _fill(values, self.get(place).id, start)
            except ERRORS as error:
                raise self.error(f"damaged ({one_line(error)})", place) from None
        return values

    def content(self, place: str) -> bytes:
        """A dataset of bytes, all of it."""
        shape, dtype = self.shape(place)
        if dtype != np.uint8 or len(shape) != 1 or shape[0] > MAX_TEXT:
            raise self.error("it holds no text", place)
        return self.rows(place, 0, shape[0]).tobytes()

    def texts(self, place: str) -> list[str]:
        """A dataset of fixed-length bytes, as text."""
        shape, dtype = self.shape(place)
        if dtype.kind != "S" or len(shape) != 1:
            raise self.error("it holds no list of names", place)
        values = self.rows(place, 0, shape[0])
        return [v.decode("utf-8", "replace") for v in values.tolist()]

    def leaves(
        self, place: str
    ) -> tuple[dict[str, tuple[tuple[int, ...], np.dtype[Any]]], list[str]]:
        """Datasets of numbers below a group, by their place in it; and what is passed.

        Returns
        -------
        tuple
            Shape and dtype by place, in the file's order; one line for each thing that
            is not read, and why.
        """
        found: dict[str, tuple[tuple[int, ...], np.dtype[Any]]] = {}
        passed: list[str] = []
        self._walk(place, "", 0, found, passed)
        return found, passed

    def _walk(
        self,
        base: str,
        inner: str,
        depth: int,
        found: dict[str, tuple[tuple[int, ...], np.dtype[Any]]],
        passed: list[str],
    ) -> None:
        place = f"{base}/{inner}" if inner else base
        for name in self.names(place):
            below = f"{inner}/{name}" if inner else name
            if len(found) + len(passed) >= MAX_LEAVES or depth >= MAX_DEPTH:
                raise self.error("it has more in it than an episode may have", place)
            try:
                if isinstance(self.get(f"{base}/{below}"), h5py.Group):
                    self._walk(base, below, depth + 1, found, passed)
                else:
                    found[below] = self.shape(f"{base}/{below}")
            except ReadError as error:
                if "too" in error.problem or "more in it" in error.problem:
                    raise
                passed.append(f"{below} is not read: {error.problem}")


def _fill(values: Array, dataset: Any, start: int) -> None:
    """Read rows from `start` on, as many as there is room for."""
    if not values.size:
        return
    there = here = h5py.h5s.ALL
    if values.shape != dataset.shape:
        there, here = dataset.get_space(), h5py.h5s.create_simple(values.shape)
        there.select_hyperslab((start, *[0] * (values.ndim - 1)), values.shape)
    dataset.read(here, there, values)
