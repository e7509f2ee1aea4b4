"""Recordings for the tests: the real ones, and small ones made of numbers."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.model import Actor, Recording
from isoscope.core.recording.registry import load
from isoscope.core.recording.tracks import Track
from isoscope.widgets.session import Document, Phase

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array
    from isoscope.widgets.session import Session

RECORDINGS = Path(__file__).parents[2] / "data" / "recordings"
H_S = 0.02
CUBE = 0.1 * np.array(
    [[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float
)
CUBE_FACES = np.array(
    [
        [0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
        [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3],
    ]
)  # fmt: skip
UPRIGHT = np.array([0.0, 0.0, 0.0, 1.0])


@cache
def real(name: str) -> Recording:
    """A real recording, read once."""
    return load(RECORDINGS / f"{name}.h5")


def actor_named(recording: Recording, name: str) -> Actor:
    return next(a for a in recording.actors if a.name == name)


def empty(rows: int, gravity: tuple[float, float, float] = (0, -9.8, 0)) -> Recording:
    """A recording without actors."""
    recording = Recording(None, "test")
    recording.steps.append(
        np.arange(rows),
        H_S * np.arange(1, rows + 1),
        np.full(rows, H_S),
        np.tile(np.array(gravity, float), (rows, 1)),
    )
    recording.complete = True
    return recording


def add_cube(
    recording: Recording,
    at: Array,
    *,
    name: str = "Cube",
    scale: float = 1.0,
    rotation: Array | None = None,
    velocity: bool = True,
    **changes: object,
) -> Actor:
    """Add a cube whose edge is 0.2 m times `scale` and that is at `at` [T, 3]."""
    index = len(recording.actors)
    rows = len(at)
    turned = np.tile(UPRIGHT, (rows, 1)) if rotation is None else rotation
    actor = Actor(
        index=index,
        handle=(1 << 32) + index,
        name=name,
        type="Rigid",
        static=False,
        created_native=0,
        reference={
            "translation": at[0].astype(np.float64),
            "rotation": turned[0],
            "surfRefPositions": scale * CUBE,
            "surfFaceIndices": CUBE_FACES.reshape(-1, 1).astype(np.int32),
        },
    )
    for key, value in changes.items():
        setattr(actor, key, value)
    actor.fields.tracks["translation"] = Track.of(at.astype(np.float64))
    actor.fields.tracks["rotation"] = Track.of(turned)
    if velocity:
        way = np.diff(at, axis=0, prepend=at[:1])
        actor.fields.tracks["vcom"] = Track.of(way / H_S)
    recording.actors.append(actor)
    return actor


def one_cube(at: Array, **changes: object) -> Recording:
    """A recording of one cube at `at` [T, 3]."""
    recording = empty(len(at))
    add_cube(recording, at, **changes)  # type: ignore[arg-type]  # passed through
    return recording


class Memory:
    """A source that is in memory from the start."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.event_count = len(recording)

    def preview(self, event: int | None = None) -> Recording | None:
        return None

    def index(self, *_: object) -> None:
        return None

    def close(self) -> None:
        return None


def show(session: Session, recording: Recording) -> Document:
    """Open a recording that is there already."""
    document = Document(Memory(recording))
    session.add(document)
    document.set_phase(Phase.READY)
    return document
