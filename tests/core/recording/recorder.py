"""Write event recordings with h5py, in the form that the recorder gives them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
from h5py import h5a, h5d, h5f, h5g, h5p, h5s, h5t

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Fields = dict[str, Any]


class Recorder:
    """A file being written: superblock 0, groups tracked and indexed by creation."""

    def __init__(self, path: Path, libver: str = "earliest") -> None:
        access = h5p.create(h5p.FILE_ACCESS)
        lowest = {"earliest": h5f.LIBVER_EARLIEST, "latest": h5f.LIBVER_LATEST}
        access.set_libver_bounds(lowest[libver], h5f.LIBVER_LATEST)
        self.take(h5f.create(bytes(path), h5f.ACC_TRUNC, fapl=access))

    def take(self, file: h5f.FileID) -> None:
        """Write into a file that was made by other means."""
        self.file = file
        self._tracked = h5p.create(h5p.GROUP_CREATE)
        self._tracked.set_link_creation_order(
            h5p.CRT_ORDER_TRACKED | h5p.CRT_ORDER_INDEXED
        )
        self.events = self.group(self.file, "events")
        self.number = 0

    def group(self, parent: Any, name: str) -> Any:
        return h5g.create(parent, name.encode(), gcpl=self._tracked)

    def attribute(self, owner: Any, name: str, value: Any) -> None:
        if isinstance(value, bytes):
            kind = h5t.C_S1.copy()
            kind.set_size(len(value))  # ended by NUL, but with no room for one
            kind.set_strpad(h5t.STR_NULLTERM)
            made = h5a.create(owner, name.encode(), kind, h5s.create(h5s.SCALAR))
            made.write(np.array(value), kind)
            return
        array = np.asarray(value)
        kind = h5t.py_create(array.dtype)
        space = (
            h5s.create_simple(array.shape) if array.shape else h5s.create(h5s.SCALAR)
        )
        h5a.create(owner, name.encode(), kind, space).write(array)

    def dataset(self, owner: Any, name: str, value: Any) -> None:
        array = np.ascontiguousarray(value)
        space = h5s.create_simple(array.shape)
        made = h5d.create(owner, name.encode(), h5t.py_create(array.dtype), space)
        made.write(h5s.ALL, h5s.ALL, array)

    def fill(self, owner: Any, fields: Fields) -> None:
        """Write fields: values of two dimensions as datasets, others as attributes."""
        for name, value in fields.items():
            if not isinstance(value, bytes) and np.ndim(value) == 2:
                self.dataset(owner, name, value)
            else:
                self.attribute(owner, name, value)

    def event(self, kind: bytes, fields: Fields, number: int | None = None) -> Any:
        if number is not None:
            self.number = number
        made = self.group(self.events, str(self.number))
        self.number += 1
        self.fill(made, {"eventType": kind, **fields})
        return made

    def create(self, handle: int, name: bytes, **fields: Any) -> None:
        self.event(
            b"CreateActor",
            {
                "handle": np.uint64(handle),
                "name": name,
                "type": b"Rigid",
                "static": np.int32(0),
                **fields,
            },
        )

    def destroy(self, handle: int) -> None:
        self.event(b"DestroyActor", {"handle": np.uint64(handle)})

    def step(
        self, time_s: float, actors: dict[int, Fields] | None, **fields: Any
    ) -> None:
        made = self.event(
            b"Step",
            {
                "timeTotal": np.float64(time_s),
                "timeStep": np.float64(0.02),
                "gravity": np.array([0, -9.8, 0], np.float32),
                **fields,
            },
        )
        if actors is None:
            return
        group = self.group(made, "actors")
        for handle, values in actors.items():
            self.fill(
                self.group(group, str(handle)),
                {"handle": np.uint64(handle), "type": b"Rigid", **values},
            )

    def close(self) -> None:
        self.events = None
        self.file.close()


@contextmanager
def recording(path: Path, libver: str = "earliest") -> Iterator[Recorder]:
    made = Recorder(path, libver)
    try:
        yield made
    finally:
        made.close()


def rigid(name: bytes, random: np.random.Generator) -> Fields:
    """A rigid actor's fields, with values drawn at random."""
    real = lambda n: random.standard_normal(n).astype(np.float32)  # noqa: E731
    return {
        "name": name,
        "translation": real(3),
        "rotation": real(4),
        "vcom": real(3),
        "omega": real(3),
        "solverGroup": np.uint64(7),
        "solverDofOffset": np.int32(6),
    }


def contacts(prefix: str, count: int, random: np.random.Generator) -> Fields:
    """Contact fields of `count` contacts: none at all for none, scalars for one."""
    if count == 0:
        return {}
    real = lambda n: random.standard_normal(n).astype(np.float32)  # noqa: E731
    one = (lambda array: array[0]) if count == 1 else (lambda array: array)
    return {
        f"{prefix}force": real(3 * count),
        f"{prefix}distance": one(real(count)),
        f"{prefix}actorA": one(random.integers(0, 9, count).astype(np.int32)),
        f"{prefix}normal": real(3 * count),
    }


def open_events(path: Path) -> h5py.Group:
    return h5py.File(path, "r", locking=False)["events"]
