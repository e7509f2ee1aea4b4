"""Every field that can be plotted, as a tree that can be searched; no Qt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoscope.core.recording.schema import meaning
from isoscope.core.series import (
    CONTROL,
    MEASURES,
    component_count,
    component_names,
    field_order,
    is_numeric,
    unit_of,
)
from isoscope.widgets.session import FieldRef

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.recording.model import Recording
    from isoscope.core.recording.tracks import AnyTrack

MOST_COMPONENTS = 256  # listed one by one
MOST_FOUND = 300


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """A row of the tree.

    Attributes
    ----------
    label
        Its own name.
    detail
        Unit, shape or type.
    path
        Lower-case text that a search looks in: actor, field, component.
    ref
        What choosing it plots; None for an actor.
    children
        Fields of an actor, components of a field.
    """

    label: str
    detail: str
    path: str
    ref: FieldRef | None
    children: tuple[Choice, ...] = ()


def field_choices(recording: Recording) -> tuple[Choice, ...]:
    """The step and every actor that holds numbers, with their fields."""
    owners: list[Choice] = []
    for actor in recording.actors:
        fields = _fields(actor.index, actor.name, actor.fields.tracks)
        if fields:
            path = f"{actor.name} {actor.type}".lower()
            owners.append(Choice(actor.name, actor.type, path, None, fields))
    step = _fields(None, "step", recording.scene.tracks)
    if step:
        owners.append(Choice("step", "the step itself", "step", None, step))
    control = _fields(CONTROL, "control step", recording.control.tracks)
    if control:
        about = "observations, actions, rewards"
        path = f"control step {about}"
        owners.insert(0, Choice("control step", about, path, None, control))
    return tuple(owners)


def _fields(
    actor: int | None, owner: str, tracks: Mapping[str, AnyTrack]
) -> tuple[Choice, ...]:
    made = []
    for name, track in sorted(tracks.items(), key=lambda item: field_order(item[0])):
        if is_numeric(track) and meaning(name).kind != "identity":
            made.append(_field(actor, owner, name, track))
    return tuple(made)


def _field(actor: int | None, owner: str, name: str, track: AnyTrack) -> Choice:
    path = f"{owner} {name}".lower()
    ref = FieldRef(actor, name)
    unit = unit_of(FieldRef(actor, name, None, "max"), track)
    detail = "unit unknown" if unit is None else unit
    children: list[Choice] = []
    if track.ragged:
        for measure, about in MEASURES.items():
            chosen = FieldRef(actor, name, None, measure)
            children.append(Choice(measure, about, f"{path} {measure}", chosen))
        ref = FieldRef(actor, name, None, "count")
    elif 1 < component_count(track) <= MOST_COMPONENTS:
        for at, part in enumerate(component_names(name, track.shape, track)):
            chosen = FieldRef(actor, name, at)
            children.append(Choice(part, detail, f"{path} {part}", chosen))
    return Choice(name, detail, path, ref, tuple(children))


def matching(choices: tuple[Choice, ...], text: str) -> tuple[Choice, ...]:
    """The part of the tree whose rows hold every word of `text`, at most so many.

    A row that matches keeps what is below it.
    """
    words = text.lower().split()
    if not words:
        return choices
    left = [MOST_FOUND]

    def prune(choice: Choice) -> Choice | None:
        if left[0] <= 0:
            return None
        if all(word in choice.path for word in words):
            left[0] -= 1 + len(choice.children)
            return choice
        kept = tuple(c for c in map(prune, choice.children) if c is not None)
        if not kept:
            return None
        return Choice(choice.label, choice.detail, choice.path, choice.ref, kept)

    return tuple(c for c in map(prune, choices) if c is not None)
