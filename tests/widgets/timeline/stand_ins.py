"""Recordings and documents for the timeline's tests, without any file being read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.model import Labels, Recording, StepKind
from isoscope.widgets.session import Document, Phase

if TYPE_CHECKING:
    from pathlib import Path


class Loaded:
    """A source whose recording is all there."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.event_count = len(recording)

    def preview(self, event: int | None = None) -> Recording | None:
        return None

    def index(self, progress: object = None, cancelled: object = None) -> None:
        return None

    def close(self) -> None:
        return None


def add_rows(recording: Recording, h_s: np.ndarray) -> None:
    begin = len(recording)
    time_s = np.cumsum(h_s) + (recording.steps.time_s[-1] if begin else 0.0)
    gravity = np.tile([0.0, -9.8, 0.0], (len(h_s), 1))
    event = np.arange(begin, begin + len(h_s))
    recording.steps.append(event, time_s, h_s, gravity)


def recording_of(h_s: np.ndarray) -> Recording:
    made = Recording(None, "test")
    add_rows(made, np.asarray(h_s, float))
    return made


def turns(rows: int, envs: int, substeps: int = 2) -> Labels:
    """Environments stepping in turn, without resets."""
    row = np.arange(rows)
    turn = row // substeps
    return Labels(
        (turn % envs).astype(np.int32),
        np.ones(rows, np.int32),
        (turn // envs + 1).astype(np.int32),
        (row % substeps).astype(np.int32),
        np.full(rows, StepKind.SUBSTEP, np.int8),
    )


def truth(path: Path) -> Labels:
    """Labels from a truth file."""
    steps = json.loads(path.read_text())["native_steps"]
    names = ("env", "episode", "control_step", "substep")
    columns = [np.array([step[name] for step in steps], np.int32) for name in names]
    kind = np.where(columns[2] == 0, StepKind.RESET, StepKind.SUBSTEP)
    return Labels(*columns, kind.astype(np.int8))


def document_of(recording: Recording, phase: Phase = Phase.READY) -> Document:
    document = Document(Loaded(recording))
    document.phase = phase
    return document
