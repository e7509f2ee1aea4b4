"""What to plot when nobody has chosen yet: pure functions of the recording."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.series import CONTROL, component_names, is_numeric
from isoscope.widgets.session import FieldRef

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.recording.model import Actor, Recording
    from isoscope.core.recording.tracks import AnyTrack, Array

# Rows that are looked at to see which component moves most.
LOOK_ROWS = 512
# Fields that hold one value or vector a contact, the best to count contacts by first.
CONTACT_FIELDS = ("contacts_distance", "contacts_force", "contacts_posA")
HEIGHT_FIELDS = ("pivotEvalTranslation", "translationCom", "translation")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A plot to offer, and the words on its button."""

    ref: FieldRef
    label: str


def default_plots(recording: Recording) -> list[FieldRef]:
    """The pose of the first articulation, else the first moving body's height.

    With the number of contacts of the first actor that has any. Empty where nothing of
    that was recorded.
    """
    plots: list[FieldRef] = _control_plots(recording)
    if plots:
        return plots
    pose = _first_pose(recording)
    height = None if pose is not None else _first_height(recording)
    contacts = _first_contacts(recording)
    plots.extend(ref for ref in (pose, height, contacts) if ref is not None)
    return plots


def suggestions(
    recording: Recording, taken: list[FieldRef], count: int = 3
) -> list[Suggestion]:
    """Up to `count` plots worth a look that are not among `taken`, the best first."""
    found: list[Suggestion] = []
    for ref in _candidates(recording):
        if ref is not None and ref not in taken and all(s.ref != ref for s in found):
            found.append(Suggestion(ref, label_of(recording, ref)))
            if len(found) == count:
                break
    return found


def short_name(recording: Recording, actor: Actor) -> str:
    """The actor's name without its articulation's, where that is still unique."""
    tail = actor.name.rpartition("/")[2]
    same = sum(a.name.rpartition("/")[2] == tail for a in recording.actors)
    return tail if same == 1 else actor.name


def field_words(field: str) -> str:
    """A field of control steps as it is titled: ``"raw action"``, ``"reward"``.

    A space without names of its own has its values as ``value``.
    """
    group, _, part = field.partition("/")
    words = group.replace("_", " ")
    return f"{words} {part}" if part and part != "value" else words


def label_of(recording: Recording, ref: FieldRef) -> str:
    """``Pole · omega z``, ``BallA · contacts_force max``, ``step · gravity``."""
    who, track = "step", recording.scene.get(ref.field)
    field = ref.field
    if ref.actor == CONTROL:
        who, track = "control step", recording.control.get(ref.field)
        field = field_words(field)
    elif ref.actor is not None:
        if ref.actor >= len(recording.actors):
            return ref.field
        actor = recording.actors[ref.actor]
        who, track = short_name(recording, actor), actor.fields.get(ref.field)
    part = ""
    if track is not None and track.ragged:
        part = f" {ref.measure or 'count'}"
    elif track is not None and ref.component is not None:
        names = component_names(ref.field, track.shape, track)
        part = f" {names[ref.component]}" if ref.component < len(names) else ""
    return f"{who} · {field}{part}"


def _control_plots(recording: Recording) -> list[FieldRef]:
    """Of control steps: the observation, the action, the reward; as far as told."""
    plots: list[FieldRef] = []
    names = list(recording.control.tracks)
    actions = _fixed(recording, "action") or _fixed(recording, "raw_action")
    raw = _fixed(recording, "raw_action")
    if raw and not _told(recording, actions[0]) and _told(recording, raw[0]):
        actions = raw  # nobody tells what became of it
    for found in (_fixed(recording, "observation_after"), actions):
        plots += [FieldRef(CONTROL, name) for name in found[:1]]
    if plots and "reward" in names:
        plots.append(FieldRef(CONTROL, "reward"))
    return plots


def _fixed(recording: Recording, group: str) -> list[str]:
    """Fields of control steps of this name, or in this group, that have a shape."""
    tracks = recording.control.tracks
    names = [n for n in tracks if n == group or n.startswith(f"{group}/")]
    return [name for name in names if not tracks[name].ragged]


def _told(recording: Recording, name: str) -> bool:
    """Whether a field of control steps has a value in the first rows."""
    track = recording.control.tracks[name]
    return bool(track.read(track.first, track.first + LOOK_ROWS).valid.any())


def _candidates(recording: Recording) -> Iterator[FieldRef | None]:
    yield _most_moving(recording, "omega")
    yield _most_moving(recording, "vcom")
    yield _first_pose(recording)
    yield _most_moving(recording, "velocity")
    yield _most_moving(recording, "displacement")
    yield _first_height(recording)
    for name, measure in (("contacts_force", "max"), ("contacts_force", "count")):
        for actor in recording.actors:
            if name in actor.fields and measure in ("max", "count"):
                yield FieldRef(actor.index, name, None, measure)  # type: ignore[arg-type]  # one of the two
                break
    yield from (
        FieldRef(None, name)
        for name in ("timeStep", "gravity", "timeTotal")
        if name in recording.scene
    )


def _first_pose(recording: Recording) -> FieldRef | None:
    for actor in recording.actors:
        track = actor.fields.get("pose")
        if track is not None and not track.ragged and is_numeric(track):
            return FieldRef(actor.index, "pose")
    return None


def _first_height(recording: Recording) -> FieldRef | None:
    up = _up_axis(recording)
    for actor in recording.actors:
        if actor.static:
            continue
        for name in HEIGHT_FIELDS:
            track = actor.fields.get(name)
            if track is not None and track.shape == (3,) and is_numeric(track):
                return FieldRef(actor.index, name, up)
    return None


def _first_contacts(recording: Recording) -> FieldRef | None:
    for actor in recording.actors:
        for name in CONTACT_FIELDS:
            track = actor.fields.get(name)
            if track is not None and track.ragged:
                return FieldRef(actor.index, name, None, "count")
    return None


def _up_axis(recording: Recording) -> int:
    """The axis that gravity acts along; y where there is none."""
    gravity = recording.steps.gravity[:1]
    if len(gravity) == 0 or not np.isfinite(gravity).all() or not gravity.any():
        return 1
    return int(np.abs(gravity[0]).argmax())


def _most_moving(recording: Recording, field: str) -> FieldRef | None:
    """The component of this field, over all actors, with the widest range."""
    best, widest = None, 0.0
    for actor in recording.actors:
        track = actor.fields.get(field)
        # An articulation repeats what its links say by name.
        if track is None or track.ragged or actor.static or actor.type == "Articulated":
            continue
        ranges = _ranges(track)
        if ranges is not None and (best is None or ranges.max() > widest):
            at = int(ranges.argmax())
            best = FieldRef(actor.index, field, at if ranges.size > 1 else None)
            widest = float(ranges[at])
    return best


def _ranges(track: AnyTrack) -> Array | None:
    """How far each component goes in the first rows; None if there is nothing."""
    if not is_numeric(track):
        return None
    window = track.read(track.first, track.first + LOOK_ROWS)
    values = window.values[window.valid]
    if values.size == 0:
        return None
    flat = values.reshape(len(values), -1).astype(np.float64)
    flat = np.where(np.isfinite(flat), flat, 0.0)
    spread: Array = flat.max(axis=0) - flat.min(axis=0)
    return spread
