"""What plain h5py reads, value by value, to compare with what the reader gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import h5py
import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.recording.model import Recording
    from isoscope.core.recording.tracks import FieldTable

_ERRORS = (
    OSError,
    KeyError,
    RuntimeError,
    ValueError,
    TypeError,
    MemoryError,
    OverflowError,
    NotImplementedError,
)
UNREADABLE = object()
MAX_BYTES = 1 << 26


def differences(path: Path, recording: Recording) -> list[str]:
    """Compare every value of a recording's Steps with h5py's; [] if none differs.

    A value that h5py does not read may be absent, but not made up. One that the
    recording lacks has to be among its problems.
    """
    wrong: list[str] = []
    with h5py.File(path, "r", locking=False) as file:
        events = file["events"]
        for row, number in enumerate(recording.steps.event.tolist()):
            step = events[str(number)]
            table = recording.scene
            wrong += _compare(table, row, _values(step), f"{number}", recording)
            for handle, actor in _members(_get(step, "actors")):
                if not isinstance(actor, h5py.Group):
                    continue
                key = _handle(actor, _text(handle))
                if key is None:
                    continue
                owners = [
                    a for a in recording.actors if a.handle == key and a.alive(row)
                ]
                if len(owners) != 1:
                    wrong.append(f"{number}: {len(owners)} actors of handle {key}")
                    continue
                table, at = owners[0].fields, f"{number}/{handle}"
                wrong += _compare(table, row, _values(actor), at, recording)
            if len(wrong) > 10:
                break
    return wrong


def _compare(
    table: FieldTable, row: int, expected: dict[str, Any], at: str, recording: Recording
) -> list[str]:
    wrong = []
    for name, value in expected.items():
        track = table.get(name)
        got = track.at(row) if track is not None else None
        if value is UNREADABLE:
            if got is not None:
                wrong.append(f"{at}: {name} is made up")
        elif got is None:
            if not recording.problems:
                wrong.append(f"{at}: {name} is missing and nothing is told")
        elif not same(got, np.asarray(value)):
            wrong.append(f"{at}: {name} is {got!r}, h5py reads {value!r}")
    return wrong


def same(got: np.ndarray, value: np.ndarray) -> bool:
    """Whether a value equals h5py's bit for bit; texts may be padded."""
    if value.dtype.kind in "OU" and got.dtype.kind == "S":
        texts = [
            v if isinstance(v, bytes) else v.encode("utf-8", "surrogateescape")
            for v in value.reshape(-1).tolist()
        ]
        return got.shape == value.shape and got.reshape(-1).tolist() == [
            t.rstrip(b"\0") for t in texts
        ]
    if value.dtype.kind == "O" and value.size == 1:
        value = np.asarray(value.reshape(-1)[0])
    return (
        got.shape == value.shape
        and got.dtype.kind == value.dtype.kind
        and got.dtype.itemsize == value.dtype.itemsize
        and got.tobytes() == value.tobytes()
    )


def _values(group: h5py.Group) -> dict[str, Any]:
    """Attributes and child datasets of a group, of kinds that a recording keeps."""
    found: dict[str, Any] = {}
    for name in _names(group.attrs):
        if name != "eventType":
            found[_text(name)] = _attribute(group, name)
    for name, child in _members(group):
        if isinstance(child, h5py.Dataset):
            if found.pop(_text(name), None) is None:
                found[_text(name)] = _dataset(child)
    return {k: v for k, v in found.items() if v is UNREADABLE or _kept(v)}


def _handle(actor: h5py.Group, name: str) -> int | None:
    raw = _attribute(actor, "handle")
    if raw is not UNREADABLE and raw is not None and not isinstance(raw, h5py.Empty):
        value = np.asarray(raw)
        if value.size == 1 and value.dtype.kind in "iu":
            return int(value.reshape(-1)[0])
    return int(name) if name.isascii() and name.isdecimal() else None


def _text(name: str | bytes) -> str:
    """A name as the reader gives it: what can't be printed is escaped."""
    if isinstance(name, str):
        name = name.encode("utf-8", "surrogateescape")
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode()
        for c in name.decode("utf-8", "backslashreplace")
    )


def _kept(value: Any) -> bool:
    if isinstance(value, h5py.Empty):
        return False
    return np.asarray(value).dtype.kind not in "V"


def _attribute(owner: Any, name: str) -> Any:
    try:
        return owner.attrs[name] if name in owner.attrs else None
    except _ERRORS:
        return UNREADABLE


def _dataset(dataset: h5py.Dataset) -> Any:
    try:
        if dataset.is_virtual or dataset.external or dataset.nbytes > MAX_BYTES:
            return h5py.Empty("f")
        return dataset[()]
    except _ERRORS:
        return UNREADABLE


def _names(owner: Any) -> list[str]:
    try:
        return list(owner)
    except _ERRORS:
        return []


def _get(group: h5py.Group, name: str) -> Any:
    try:
        return group[name] if name in group else None
    except _ERRORS:
        return None


def _members(group: Any) -> list[tuple[str, Any]]:
    if not isinstance(group, h5py.Group):
        return []
    found = []
    for name in _names(group):
        try:
            if isinstance(group.get(name, getlink=True), h5py.HardLink):
                found.append((name, group[name]))
        except _ERRORS:
            continue
    return found
