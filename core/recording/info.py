"""What a recording holds and what it can be used for, as `isoscope.info/1`.

What is unknown is None, or left out of a list: a step whose h the file doesn't say is
in no entry of `time_steps`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np

from isoscope.core.recording.labelled.run_info import RunInfo, run_info
from isoscope.core.recording.supports import Answer, Supports, supports
from isoscope.core.series import unit_told

if TYPE_CHECKING:
    from isoscope.core.recording.model import Actor, Recording
    from isoscope.core.recording.tracks import Array

__all__ = ["ActorInfo", "Answer", "Info", "Supports", "info"]

_KINDS = ("CreateActor", "DestroyActor", "Step")


class Events(msgspec.Struct):
    """How many events of each kind."""

    CreateActor: int
    DestroyActor: int
    Step: int
    other: int


class TimeStep(msgspec.Struct):
    """A duration, and how many steps had it."""

    h_s: float
    count: int


class GravityRun(msgspec.Struct):
    """Gravity in m/s², and the native steps that it held in, both included."""

    value: list[float]
    first_native: int
    last_native: int


class FieldInfo(msgspec.Struct):
    """A field: shape of a step's value (-1 if it varies), in how many steps it is."""

    name: str
    dtype: str
    shape: list[int]
    present: int
    ragged: bool
    unit: str | None


class ActorInfo(msgspec.Struct):
    """An actor, its life in native steps, and its fields."""

    name: str
    handle: int
    type: str
    static: bool | None
    created_native: int
    destroyed_native: int | None
    fields: list[FieldInfo]


class LabelInfo(msgspec.Struct):
    """What the source itself says about whose the steps were."""

    environments: bool
    seeds: bool
    actions: bool
    snapshots: bool


class Info(msgspec.Struct, kw_only=True):
    """What `isoscope info` prints; `run` is there for labelled recordings only."""

    schema: Literal["isoscope.info/1"] = "isoscope.info/1"
    file: str | None
    format: str
    bytes: int
    complete: bool
    warnings: list[str]
    precision: Literal["float32", "float64"] | None
    events: Events
    steps: int
    recording_time_s: tuple[float | None, float | None]
    time_steps: list[TimeStep]
    gravity: list[GravityRun]
    actors: list[ActorInfo]
    supports: Supports
    labels: LabelInfo
    run: RunInfo | msgspec.UnsetType = msgspec.UNSET


def info(recording: Recording) -> Info:
    """Describe a recording, or the part of it that has been indexed so far."""
    steps, labelled = recording.steps, recording.labelled
    return Info(
        file=None if recording.path is None else str(recording.path),
        format=recording.format,
        bytes=recording.size_bytes,
        complete=recording.complete,
        warnings=[str(problem) for problem in recording.problems],
        precision=_precision(recording),
        events=_events(recording.event_counts),
        steps=len(steps) if recording.row_is == "native step" else 0,
        recording_time_s=_ends(steps.time_s),
        time_steps=_time_steps(steps.h_s),
        gravity=_gravity(steps.gravity),
        actors=[_actor(actor) for actor in recording.actors],
        supports=supports(recording),
        labels=_labels(recording),
        run=msgspec.UNSET if labelled is None else run_info(labelled),
    )


def _precision(recording: Recording) -> Literal["float32", "float64"] | None:
    real = recording.real
    if real is None or real.kind != "f":
        return None
    return (
        "float32" if real.itemsize == 4 else "float64" if real.itemsize == 8 else None
    )


def _events(counts: dict[str, int]) -> Events:
    other = sum(n for kind, n in counts.items() if kind not in _KINDS)
    created, destroyed, steps = (counts.get(kind, 0) for kind in _KINDS)
    return Events(created, destroyed, steps, other)


def _ends(times: Array) -> tuple[float | None, float | None]:
    if not len(times):
        return None, None
    first, last = (None if np.isnan(t) else float(t) for t in (times[0], times[-1]))
    return first, last


def _time_steps(durations: Array) -> list[TimeStep]:
    """Durations by how often they occur, then by length."""
    known = durations[~np.isnan(durations)]
    values, counts = np.unique(known, return_counts=True)
    order = np.lexsort((values, -counts))
    return [TimeStep(float(values[i]), int(counts[i])) for i in order]


def _gravity(gravity: Array) -> list[GravityRun]:
    """Runs of steps with one gravity [T, 3]; steps where it is unknown are in none."""
    if not len(gravity):
        return []
    same = (gravity[1:] == gravity[:-1]) | (
        np.isnan(gravity[1:]) & np.isnan(gravity[:-1])
    )
    starts = [0, *(1 + np.flatnonzero(~same.all(axis=1))).tolist()]
    stops = [*starts[1:], len(gravity)]
    return [
        GravityRun([float(v) for v in gravity[start]], start, stop - 1)
        for start, stop in zip(starts, stops, strict=True)
        if not np.isnan(gravity[start]).any()
    ]


def _actor(actor: Actor) -> ActorInfo:
    fields = [
        FieldInfo(
            name,
            track.dtype.name if track.dtype.kind != "S" else track.dtype.str[1:],
            list(track.shape),
            track.present_count(),
            track.ragged,
            unit_told(name, track),
        )
        for name, track in actor.fields.tracks.items()
    ]
    return ActorInfo(
        actor.name,
        actor.handle,
        actor.type,
        actor.static,
        actor.created_native,
        actor.destroyed_native,
        fields,
    )


def _labels(recording: Recording) -> LabelInfo:
    labels = recording.labels
    said = recording.notes
    return LabelInfo(
        environments=labels is not None and bool((labels.env >= 0).any()),
        seeds="seeds" in said,
        actions="actions" in said,
        snapshots="snapshots" in said,
    )
