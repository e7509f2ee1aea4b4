"""Where in an event recording a value comes from, and the Python that reads it.

A track doesn't know whether its field was an attribute or a dataset, so the place is
looked up in the file: one event is found by random access in under a millisecond. Only
hard links are followed. Layout of the file: the SuperDex scene recorder, release 1.0.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import h5py

from isoscope.core.recording.superdex.h5walk import H5_ERRORS
from isoscope.core.recording.superdex.reader import EventSource

if TYPE_CHECKING:
    from isoscope.core.recording.source import Source

LOOK_BACK = 2_000  # events that are searched for an actor's creation


@dataclass(frozen=True, slots=True)
class Place:
    """A value in the file.

    Attributes
    ----------
    file
        The file.
    object
        Path of the group or dataset: ``"/events/12/actors/219043332097"``.
    attribute
        Name of its attribute, or None for the dataset's own content.
    """

    file: Path
    object: str
    attribute: str | None

    def __str__(self) -> str:
        """The path, and after an ``@`` the attribute."""
        return (
            self.object
            if self.attribute is None
            else (f"{self.object} @{self.attribute}")
        )

    def python(self, component: int | None = None) -> str:
        """A program that reads exactly this value, or a component, and prints it."""
        item = f"file[{self.object!r}]"
        value = (
            f"{item}[()]"
            if self.attribute is None
            else (f"{item}.attrs[{self.attribute!r}]")
        )
        if component is not None:
            value += f".reshape(-1)[{component}]"
        return (
            "import h5py\n\n"
            f"with h5py.File({str(self.file)!r}, 'r', locking=False) as file:\n"
            f"    value = {value}\n"
            "print(value)\n"
        )


def step_place(
    source: Source, event: int, handle: int | None, field: str
) -> Place | None:
    """Where a Step's field is, of an actor (by handle) or of the step itself (None).

    None if the source is no event recording that this process may read (a damaged one
    is read by another process), or holds no such value.
    """
    events = _events(source)
    if events is None:
        return None
    try:
        group = _child(events, str(event))
        if handle is not None and group is not None:
            group = _actor_group(group, handle)
        return None if group is None else _place(_path(source), group, field)
    except H5_ERRORS:
        return None


def creation_place(
    source: Source, before_event: int, handle: int, field: str
) -> Place | None:
    """Where a field of an actor's creation is: the last one before a Step's event.

    None as in `step_place`.
    """
    events = _events(source)
    if events is None:
        return None
    try:
        least = max(before_event - LOOK_BACK, 0)
        for number in range(before_event - 1, least - 1, -1):
            group = _child(events, str(number))
            if group is None or group.attrs.get("handle") != handle:
                continue
            if group.attrs.get("eventType") in (b"CreateActor", "CreateActor"):
                return _place(_path(source), group, field)
    except H5_ERRORS:
        return None
    return None


def _events(source: Source) -> h5py.Group | None:
    """The file's events, where this process may read them."""
    return source.file.events if isinstance(source, EventSource) else None


def _path(source: Source) -> Path:
    return source.recording.path or Path()


def _actor_group(step: h5py.Group, handle: int) -> h5py.Group | None:
    actors = _child(step, "actors")
    if actors is None:
        return None
    named = _child(actors, str(handle))
    if named is not None and named.attrs.get("handle", handle) == handle:
        return named
    for name in actors:
        group = _child(actors, name)
        if group is not None and group.attrs.get("handle") == handle:
            return group
    return None


def _child(group: h5py.Group, *names: str) -> h5py.Group | None:
    """The group below, through hard links only; None where there is none."""
    for name in names:
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            return None
        group = group[name]
        if not isinstance(group, h5py.Group):
            return None
    return group


def _place(path: Path, group: h5py.Group, field: str) -> Place | None:
    """Undo the naming of fields: ``dataset``, ``group/dataset``, ``…@attribute``."""
    base = str(group.name)
    *folders, last = field.split("/")
    owner = _child(group, *folders) if folders else group
    if owner is not None:
        here = base + "".join(f"/{folder}" for folder in folders)
        link = owner.get(last, getlink=True)
        if isinstance(link, h5py.HardLink) and isinstance(owner[last], h5py.Dataset):
            return Place(path, f"{here}/{last}", None)
        if last in owner.attrs:
            return Place(path, here, last)
        head, at, attribute = last.rpartition("@")
        if at and isinstance(owner.get(head, getlink=True), h5py.HardLink):
            if attribute in owner[head].attrs:
                return Place(path, f"{here}/{head}", attribute)
    if field in group.attrs:  # an attribute with a slash in its own name
        return Place(path, base, field)
    return None
