"""What the inspector lists: the step, every actor, their fields; no Qt."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.schema import FieldMeaning, meaning
from isoscope.core.series import CONTROL, component_names, field_order, unit_told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.recording.model import Actor, Recording
    from isoscope.core.recording.tracks import AnyTrack, Array

MOST_COMPONENTS = 64  # a field with more isn't unfolded


class Kind(Enum):
    """What a row of the tree is."""

    STEP = "step"
    CONTROL = "control step"
    ACTOR = "actor"
    FIELD = "field"
    COMPONENT = "component"
    CREATION = "creation"
    REFERENCE = "reference"


GROUPS = (Kind.STEP, Kind.CONTROL, Kind.ACTOR)


@dataclass(slots=True, eq=False)
class Node:
    """A row.

    Attributes
    ----------
    kind
        What it is.
    name
        Of the actor or field.
    actor
        Whose it is; None for the step's own.
    track
        Of a FIELD or COMPONENT.
    component
        Of a COMPONENT: its flat index into the field's values.
    value
        Of a REFERENCE: what the creation holds.
    parent, place
        The row above, and its place among that one's children.
    children
        Rows below.
    """

    kind: Kind
    name: str
    actor: Actor | None
    track: AnyTrack | None = None
    value: Array | None = None
    parent: Node | None = None
    place: int = 0
    component: int | None = None
    children: list[Node] = field(default_factory=list)

    @property
    def field(self) -> str:
        """The field's name, of a component too."""
        if self.kind is Kind.COMPONENT and self.parent is not None:
            return self.parent.name
        return self.name

    @property
    def meaning(self) -> FieldMeaning:
        """What the field is."""
        return meaning(self.field)

    @property
    def unit(self) -> str | None:
        """The unit of its values; None where unknown."""
        return unit_told(self.field, self.track)

    @property
    def owner(self) -> int | None:
        """Index of its actor; None for the step, `CONTROL` for the control step."""
        if self.actor is not None:
            return self.actor.index
        top = self
        while top.parent is not None:
            top = top.parent
        return CONTROL if top.kind is Kind.CONTROL else None

    @property
    def is_value(self) -> bool:
        """Whether the row holds a value of the file."""
        return self.kind in (Kind.FIELD, Kind.COMPONENT, Kind.REFERENCE)

    @property
    def has_components(self) -> bool:
        """Whether the field can be unfolded into its components."""
        track = self.track
        if self.kind is not Kind.FIELD or track is None or track.ragged:
            return False
        return 1 < math.prod(track.shape) <= MOST_COMPONENTS

    def components(self) -> list[Node]:
        """Its components as rows; made when they are first asked for."""
        if not self.children and self.has_components and self.track is not None:
            for at, name in enumerate(
                component_names(self.name, self.track.shape, self.track)
            ):
                child = Node(Kind.COMPONENT, name, self.actor, self.track)
                child.component = at
                _put(self, child)
        return self.children

    def value_at(self, row: int) -> Array | None:
        """The value at a native row; None where absent."""
        if self.track is None:
            return self.value
        value = self.track.at(row)
        if value is None or self.component is None:
            return value
        flat = value.reshape(-1)
        return np.asarray(flat[self.component]) if self.component < len(flat) else None

    def is_odd(self, row: int) -> bool:
        """Whether the value's dtype or shape breaks its field's rule there."""
        return self.track is not None and row in self.track.odd

    def walk(self) -> Iterator[Node]:
        """The row itself and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()


def build(recording: Recording, wanted: str = "") -> list[Node]:
    """The top rows: the step, then the actors in order of creation.

    Parameters
    ----------
    recording
        What to list.
    wanted
        Words that must all occur in a row's actor, type and field; a row that matches
        keeps what is above it. Empty lists everything.
    """
    words = wanted.lower().split()
    tops = [Node(Kind.STEP, "Step", None)]
    _add_fields(tops[0], list(recording.scene.tracks.items()), words, "step")
    control = list(recording.control.tracks.items())
    if control:
        tops.append(Node(Kind.CONTROL, "Control step", None))
        _add_fields(tops[1], control, words, "control step")
    for actor in list(recording.actors):
        top = Node(Kind.ACTOR, actor.name, actor)
        owner = f"{actor.name} {actor.type}".lower()
        _add_fields(top, list(actor.fields.tracks.items()), words, owner)
        creation = Node(Kind.CREATION, "at creation", actor)
        for name in sorted(actor.reference, key=field_order):
            if _matches(words, f"{owner} at creation {name.lower()}"):
                value = actor.reference[name]
                _put(creation, Node(Kind.REFERENCE, name, actor, None, value))
        if creation.children:
            _put(top, creation)
        tops.append(top)
    if words:
        tops = [top for top in tops if top.children]
    for place, top in enumerate(tops):
        top.place = place
    return tops


def structure(recording: Recording) -> tuple[int, int, int, int]:
    """Changes whenever `build` would list something else, or a row's look differs."""
    fields = odd = ended = 0
    for actor in list(recording.actors):
        fields += len(actor.fields.tracks)
        odd += sum(len(t.odd) for t in list(actor.fields.tracks.values()))
        ended += actor.destroyed_native is not None
    step = len(recording.scene.tracks) + len(recording.control.tracks)
    return len(recording.actors), fields + step, odd, ended


def _add_fields(
    top: Node, tracks: list[tuple[str, AnyTrack]], words: list[str], owner: str
) -> None:
    for name, track in sorted(tracks, key=lambda item: field_order(item[0])):
        if _matches(words, f"{owner} {name.lower()}"):
            _put(top, Node(Kind.FIELD, name, top.actor, track))


def _put(above: Node, child: Node) -> None:
    child.parent, child.place = above, len(above.children)
    above.children.append(child)


def _matches(words: list[str], text: str) -> bool:
    return all(word in text for word in words)
