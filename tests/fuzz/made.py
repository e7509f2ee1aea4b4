"""Recordings made with h5py, in forms that the recorder itself never writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import h5py
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HANDLE = 8589934593


def create(events: h5py.Group, number: int, handle: int = HANDLE, **more: Any) -> None:
    """Add a CreateActor event."""
    group = events.create_group(str(number))
    group.attrs["eventType"] = np.bytes_("CreateActor")
    group.attrs["handle"] = np.uint64(handle)
    group.attrs["name"] = np.bytes_(more.pop("name", "Ball"))
    group.attrs["type"] = np.bytes_(more.pop("type", "Rigid"))
    group.attrs["static"] = np.int32(more.pop("static", 0))
    for key, value in more.items():
        group.attrs[key] = value


def destroy(events: h5py.Group, number: int, handle: int = HANDLE) -> None:
    """Add a DestroyActor event."""
    group = events.create_group(str(number))
    group.attrs["eventType"] = np.bytes_("DestroyActor")
    group.attrs["handle"] = np.uint64(handle)


def step(
    events: h5py.Group,
    number: int,
    handles: tuple[int, ...] = (HANDLE,),
    h: float = 0.02,
    **more: Any,
) -> list[h5py.Group]:
    """Add a Step event; returns its actors' groups, with a translation each."""
    group = events.create_group(str(number))
    group.attrs["eventType"] = np.bytes_("Step")
    group.attrs["timeTotal"] = float(number) * h
    group.attrs["timeStep"] = h
    group.attrs["gravity"] = np.array([0, -9.8, 0], np.float32)
    for key, value in more.items():
        group.attrs[key] = value
    actors = group.create_group("actors")
    made = []
    for handle in handles:
        actor = actors.create_group(str(handle))
        actor.attrs["handle"] = np.uint64(handle)
        actor.attrs["name"] = np.bytes_("Ball")
        actor.attrs["type"] = np.bytes_("Rigid")
        actor.attrs["translation"] = np.array([number, 1, 2], np.float32)
        made.append(actor)
    return made


def recording(
    path: Path,
    steps: int = 12,
    decorate: Callable[[h5py.Group, int], None] | None = None,
    **options: Any,
) -> Path:
    """Write a recording of one actor; `decorate` adds to its group in each step."""
    config = h5py.get_config()
    before = config.track_order
    # As the recorder does, groups keep the order of creation: in a dense form.
    config.track_order = options.setdefault("track_order", True)
    try:
        with h5py.File(path, "w", **options) as file:
            events = file.create_group("events")
            create(events, 0)
            for number in range(1, steps + 1):
                for actor in step(events, number):
                    if decorate is not None:
                        decorate(actor, number)
    finally:
        config.track_order = before
    return path


def plain(actor: h5py.Group, number: int) -> None:
    """Values as the recorder writes them."""
    actor.create_dataset("pose", data=np.arange(7.0) * number)
    actor.create_dataset("none", data=np.empty((0, 3), np.float32))


def packed(actor: h5py.Group, number: int) -> None:
    """Datasets in chunks, through filters."""
    data = np.arange(200.0) * number
    actor.create_dataset("gzip", data=data, chunks=(50,), compression="gzip")
    actor.create_dataset("sum", data=data, chunks=(64,), fletcher32=True, shuffle=True)
    actor.create_dataset("lzf", data=data, chunks=(100,), compression="lzf")


def worded(actor: h5py.Group, number: int) -> None:
    """Strings of variable length, and other types."""
    actor.attrs["word"] = "word" * (number % 3)
    actor.attrs["words"] = ["a", "bc", "déf"]
    actor.attrs["yes"] = bool(number % 2)
    actor.attrs["big"] = np.array([1.5, number], ">f4")
    actor.attrs["pair"] = np.array((1, 2.5), [("a", "i4"), ("b", "f8")])
    actor.attrs["half"] = np.float16(number)
    actor.create_dataset("texts", data=["x" * number, "y"])


def linked(actor: h5py.Group, number: int) -> None:
    """Links of every kind, also to itself."""
    actor["self"] = actor
    actor["soft"] = h5py.SoftLink("/events/0")
    actor["gone"] = h5py.SoftLink("/nowhere")
    actor["outside"] = h5py.ExternalLink("other.h5", "/events")
    if number > 1:
        actor["before"] = actor.file[f"/events/{number - 1}"]


def many(actor: h5py.Group, number: int) -> None:
    """More attributes and children than fit into an object's header."""
    for i in range(20):
        actor.attrs[f"attribute{i}"] = np.full(3, i * number, np.float64)
        actor.create_dataset(f"dataset{i}", data=np.float32(i))


# Each makes one file; keys name it.
FORMS: dict[str, dict[str, Any]] = {
    "plain": {"decorate": plain},
    "untracked": {"decorate": plain, "track_order": False},
    "latest": {"decorate": plain, "libver": "latest"},
    "v108": {"decorate": many, "libver": ("earliest", "v108"), "steps": 4},
    "packed": {"decorate": packed},
    "packed_latest": {"decorate": packed, "libver": "latest"},
    "worded": {"decorate": worded},
    "worded_latest": {"decorate": worded, "libver": "latest"},
    "linked": {"decorate": linked, "steps": 6},
    "many": {"decorate": many, "steps": 4},
    "userblock": {"decorate": plain, "userblock_size": 512},
}
