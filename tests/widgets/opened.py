"""Documents of real and made-up recordings, as panels get them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.analysis import Analyser, aligned
from isoscope.core.recording.model import Actor, Recording
from isoscope.core.recording.registry import open_source
from isoscope.core.recording.tracks import Track
from isoscope.widgets.session import Document, Phase

if TYPE_CHECKING:
    from pathlib import Path


@dataclass
class Made:
    """A source of a recording that is there already."""

    recording: Recording
    event_count: int = 0

    def preview(self, event=None):
        return None

    def index(self, progress=None, cancelled=None):
        """Nothing to do."""

    def close(self):
        """Nothing to let go of."""


def open_document(path: Path) -> Document:
    """Open and index a file, as the window does; its source stays open."""
    source = open_source(path)
    preview = source.preview()
    source.index()
    document = Document(source, preview)
    document.phase = Phase.READY
    return document


def analysed_document(path: Path) -> Document:
    """The same with what attribution, audit and alignment found out."""
    document = open_document(path)
    recording = document.recording
    document.analysis = aligned(Analyser(recording).run(), recording)
    return document


def add_steps(recording: Recording, rows: int, h_s: float = 0.02) -> None:
    """Append steps."""
    first = len(recording)
    n = np.arange(first, first + rows)
    gravity = np.tile([0.0, -9.8, 0.0], (rows, 1))
    recording.steps.append(n, (n + 1) * h_s, np.full(rows, h_s), gravity)


def made_recording(
    rows: int, actors: int = 1, fields: dict[str, tuple[int, ...]] | None = None
) -> Recording:
    """A recording of random float32 values."""
    recording = Recording(None, "made")
    random = np.random.default_rng(3)
    for index in range(actors):
        actor = Actor(index, 1000 + index, f"Body{index}", "Rigid", False, 0)
        for name, shape in (fields or {"translation": (3,), "omega": (3,)}).items():
            track = Track(np.dtype(np.float32), shape)
            track.append(random.normal(size=(rows, *shape)).astype(np.float32))
            actor.fields.tracks[name] = track
        recording.actors.append(actor)
    add_steps(recording, rows)
    recording.complete = True
    return recording


def made_document(recording: Recording, phase: Phase = Phase.READY) -> Document:
    """A document of a recording that no file stands behind."""
    document = Document(Made(recording, len(recording)))
    document.phase = phase
    return document
