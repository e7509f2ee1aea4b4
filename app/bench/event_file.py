"""Write a long event recording in the recorder's own form, in seconds.

Creating a hundred thousand groups of forty attributes through HDF5 takes minutes. Here
HDF5 writes *one* step's event; its bytes are then copied for every step, with the
addresses inside shifted and the values put in, and HDF5 only links each copy under its
number. What comes out is an ordinary file, equal in form to a recording.

The copies lie in the storage of a dataset beside ``/events``, which keeps the room for
them and is never read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
from h5py import h5a, h5d, h5f, h5g, h5o, h5p, h5r, h5s, h5t

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.app.bench.shared_run import SharedRun
    from isoscope.core.recording.tracks import Array

ROOM = "room"
REFERENCES = "references"
CHUNK = 2048  # copies made at a time
WORD = 8


def write_run(run: SharedRun, path: Path) -> None:
    """Write a generated run as an event recording.

    Raises
    ------
    OSError
        If the file can't be written.
    """
    values = _values(run)
    with _made(path) as file:
        _create_actors(file, run)
    first, before, marks, head = _template(path, values)
    second, later, _, _ = _template(path, values)
    pointers = _pointers(first, second, later - before)
    # A copy has no link yet; its header (version 1) counts them in bytes 4 to 7.
    template = first.copy()
    template[head - before + 4 : head - before + 8] = 0
    places = {key: _find(template, mark) for key, mark in marks.items()}
    with h5py.File(path, "r+", libver=("earliest", "latest")) as file:
        room = _room(file, len(run), len(template))
        references = _references(file, len(run))
    _copy(path, template, before, pointers, places, values, room)
    heads = room + head - before + np.arange(len(run)) * len(template)
    _fill_references(path, references, heads)
    with h5py.File(path, "r+", libver=("earliest", "latest")) as file:
        _link(file, len(run.actors))


def _values(run: SharedRun) -> dict[tuple[str, ...], Array]:
    """Columns [T, ...] by where they are: (field) or (actor's handle, field)."""
    rows = len(run)
    out: dict[tuple[str, ...], Array] = {
        ("eventType",): np.full(rows, b"Step"),
        ("timeTotal",): run.time_s,
        ("timeStep",): run.h_s,
        ("gravity",): run.gravity,
    }
    for (_, _, handle), fields in run.actors.items():
        for name, column in fields.items():
            out[(str(handle), name)] = np.ascontiguousarray(column)
    return out


# -- through HDF5: the beginning, one event, the links -------------------------------


def _made(path: Path) -> h5py.File:
    access = h5p.create(h5p.FILE_ACCESS)
    access.set_libver_bounds(h5f.LIBVER_EARLIEST, h5f.LIBVER_LATEST)
    access.set_fclose_degree(h5f.CLOSE_STRONG)
    file = h5f.create(bytes(path), h5f.ACC_TRUNC, fapl=access)
    _group(file, "events")
    return h5py.File(file)


def _group(parent: Any, name: str) -> Any:
    tracked = h5p.create(h5p.GROUP_CREATE)
    tracked.set_link_creation_order(h5p.CRT_ORDER_TRACKED | h5p.CRT_ORDER_INDEXED)
    return h5g.create(parent, name.encode(), gcpl=tracked)


def _attribute(owner: Any, name: str, value: Array) -> None:
    if value.dtype.kind == "S":
        kind = h5t.C_S1.copy()
        kind.set_size(value.dtype.itemsize)
        kind.set_strpad(h5t.STR_NULLTERM)
    else:
        kind = h5t.py_create(value.dtype)
    space = h5s.create_simple(value.shape) if value.shape else h5s.create(h5s.SCALAR)
    h5a.create(owner, name.encode(), kind, space).write(value, kind)


def _dataset(owner: Any, name: str, value: Array) -> None:
    space = h5s.create_simple(value.shape)
    made = h5d.create(owner, name.encode(), h5t.py_create(value.dtype), space)
    made.write(h5s.ALL, h5s.ALL, np.ascontiguousarray(value))


def _create_actors(file: h5py.File, run: SharedRun) -> None:
    for number, (name, kind, handle) in enumerate(run.actors):
        event = _group(file["events"].id, str(number))
        _attribute(event, "eventType", np.array(b"CreateActor"))
        _attribute(event, "handle", np.array(handle, np.uint64))
        _attribute(event, "name", np.array(name.encode()))
        _attribute(event, "type", np.array(kind.encode()))
        _attribute(event, "static", np.array(0, np.int32))


def _template(
    path: Path, values: dict[tuple[str, ...], Array]
) -> tuple[Array, int, dict[tuple[str, ...], bytes], int]:
    """Write one step's event at the end of the file, and take it out of the tree.

    Gives its bytes, where they begin, the mark that stands for each value in them, and
    the address of the event itself.
    """
    before = path.stat().st_size
    with h5py.File(path, "r+", libver=("earliest", "latest")) as file:
        marks, head = _write_template(file, values)
    template = np.fromfile(path, np.uint8)[before:]
    with h5py.File(path, "r+", libver=("earliest", "latest")) as file:
        del file["template"]
        # Keeps the end of the file where it is, so that nothing is written over.
        _dataset(file.id, f"end{before}", np.zeros(1, np.uint8))
    return template, before, marks, head


def _write_template(
    file: h5py.File, values: dict[tuple[str, ...], Array]
) -> tuple[dict[tuple[str, ...], bytes], int]:
    """Write the event under /template, each value a mark to be found by."""
    rng = np.random.default_rng(5)
    event = _group(file.id, "template")
    inside = _group(event, "actors")
    actors: dict[str, Any] = {}
    marks = {}
    for key, column in values.items():
        shape, dtype = column.shape[1:], column.dtype
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        raw = rng.integers(1, 255, size).astype(np.uint8)
        mark = raw.view(dtype).reshape(shape)
        marks[key] = raw.tobytes()
        owner = event
        if len(key) > 1:
            if key[0] not in actors:
                actors[key[0]] = _group(inside, key[0])
            owner = actors[key[0]]
        put = _dataset if _is_dataset(column) else _attribute
        put(owner, key[-1], mark)
    return marks, int(h5o.get_info(event).addr)


def _is_dataset(column: Array) -> bool:
    """An articulation's columns over its links and joints are datasets."""
    return column.ndim == 3 or (column.ndim == 2 and column.shape[1] == 2)


def _room(file: h5py.File, count: int, size: int) -> int:
    """Reserve room for all copies; gives its address."""
    creation = h5p.create(h5p.DATASET_CREATE)
    creation.set_alloc_time(h5d.ALLOC_TIME_EARLY)
    creation.set_fill_time(h5d.FILL_TIME_NEVER)
    space = h5s.create_simple((count * size,))
    made = h5d.create(file.id, ROOM.encode(), h5t.NATIVE_UINT8, space, dcpl=creation)
    return int(made.get_offset())


def _references(file: h5py.File, count: int) -> int:
    """Reserve a reference to each copy; gives the address of the list."""
    creation = h5p.create(h5p.DATASET_CREATE)
    creation.set_alloc_time(h5d.ALLOC_TIME_EARLY)
    space = h5s.create_simple((count,))
    kind = h5t.STD_REF_OBJ
    made = h5d.create(file.id, REFERENCES.encode(), kind, space, dcpl=creation)
    return int(made.get_offset())


def _link(file: h5py.File, first: int) -> None:
    events = file["events"].id
    for number, reference in enumerate(file[REFERENCES][()]):
        made = h5r.dereference(reference, file.id)
        h5o.link(made, events, str(first + number).encode())
    del file[REFERENCES]


# -- by bytes: the copies -------------------------------------------------------------


def _find(template: Array, mark: bytes) -> int:
    """Where a value lies in the template's bytes."""
    content = template.tobytes()
    at = content.find(mark)
    if at < 0 or content.find(mark, at + 1) >= 0:
        raise AssertionError("a value's mark is not there just once")
    return at


def _pointers(first: Array, second: Array, shift: int) -> list[int]:
    """Places of the addresses in an event: what differs by where the event lies."""
    size = min(len(first), len(second))
    found = []
    for at in range(WORD):
        whole = (size - at) // WORD * WORD
        here = first[at : at + whole].view("<u8")
        there = second[at : at + whole].view("<u8")
        hits = np.flatnonzero(here + np.uint64(shift) == there)
        found += [at + int(k) * WORD for k in hits]
    return sorted(found)


def _copy(
    path: Path,
    template: Array,
    before: int,
    pointers: list[int],
    places: dict[tuple[str, ...], int],
    values: dict[tuple[str, ...], Array],
    room: int,
) -> None:
    """Write a copy for every step into the room, its values and addresses put in."""
    size = len(template)
    count = len(values["timeStep",])
    file = np.memmap(path, np.uint8, "r+")
    for low in range(0, count, CHUNK):
        high = min(low + CHUNK, count)
        copies = np.tile(template, (high - low, 1))
        moved = room - before + np.arange(low, high, dtype=np.uint64) * size
        for at in pointers:
            word = template[at : at + WORD].view("<u8")[0]
            copies[:, at : at + WORD] = _bytes(word + moved)
        for key, at in places.items():
            raw = _bytes(values[key][low:high])
            copies[:, at : at + raw.shape[1]] = raw
        begin = room + low * size
        file[begin : begin + copies.size] = copies.ravel()
    file.flush()


def _bytes(column: Array) -> Array:
    """The bytes [n, size] of each row of a column."""
    rows = np.ascontiguousarray(column).reshape(len(column), -1)
    return rows.view(np.uint8)


def _fill_references(path: Path, address: int, heads: Array) -> None:
    file = np.memmap(path, np.uint8, "r+")
    raw = heads.astype("<u8").view(np.uint8)
    file[address : address + len(raw)] = raw
    file.flush()
