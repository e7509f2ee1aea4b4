"""Whether a model can express a recording: the same actors, joints and links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.schema import XYZW, meaning
from isoscope.core.recording.tracks import Track
from isoscope.core.replay.engine import ReplayError
from isoscope.core.replay.fields import COMPARED
from isoscope.core.summary import listed

if TYPE_CHECKING:
    from isoscope.core.isolation.context import Examined
    from isoscope.core.recording.model import Actor
    from isoscope.core.scene import Scene, SceneActor

RIGID_POSITIONS, RIGID_VELOCITIES = 7, 6


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """An actor of the model and the recorded one that it stands in for."""

    scene: SceneActor
    recorded: Actor

    @property
    def articulated(self) -> bool:
        """Whether its state is joint positions, or a free body's place and turn."""
        return self.scene.type == "Articulated"


@dataclass(frozen=True, slots=True, eq=False)
class FieldPair:
    """A field that both have.

    Attributes
    ----------
    row
        What the scene reads it by.
    kind
        ``"pose"`` or ``"velocity"``.
    rotation
        Whether it is a quaternion, so that q and -q are the same.
    """

    actor: str
    name: str
    unit: str | None
    rotation: bool
    row: int
    kind: str
    track: Track

    @property
    def full_name(self) -> str:
        """``actor.field``."""
        return f"{self.actor}.{self.name}"


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """What of the model stands for what of the recording."""

    bodies: list[Body]
    fields: list[FieldPair]


def fit(examined: Examined, scene: Scene, model: str) -> Fit:
    """Bring a model's actors and a recording's together, by name.

    Raises
    ------
    ReplayError
        If the model can't express the recording; with all that is missing.
    """
    missing: list[str] = []
    recorded = {actor.name: actor for actor in examined.recording.actors}
    rows = {row.name: row for row in scene.rows}
    bodies = []
    for actor in scene.actors:
        if actor.static or not actor.velocity_size:
            continue
        found = recorded.get(actor.name)
        if found is None:
            missing.append(f"the recording has no {actor.name}, which the model moves")
            continue
        if problem := _problem(actor, found):
            missing.append(problem)
        bodies.append(Body(actor, found))
    for name, one in recorded.items():
        if one.static or name in rows:
            continue
        missing.append(f"the model has no {name} ({one.type})")
    if missing:
        raise ReplayError(
            f"stepping {examined.file} again by {model}: the model can't express it: "
            f"{'; '.join(missing[:8])}" + (" and more" if len(missing) > 8 else "")
        )
    fields = [
        pair
        for name, row in rows.items()
        if name in recorded and not row.static
        for pair in _fields(recorded[name], row.index, row.fields)
    ]
    return Fit(bodies, fields)


def _problem(actor: SceneActor, recorded: Actor) -> str:
    """What of an actor the model can't express; empty if it can."""
    name, tracks = actor.name, recorded.fields.tracks
    if recorded.type != actor.type:
        return f"{name} is {recorded.type}, and the model's is {actor.type}"
    wanted = ["pose"] if actor.type == "Articulated" else ["translation", "rotation"]
    lacking = [one for one in wanted if not isinstance(tracks.get(one), Track)]
    if lacking:
        return f"{name} was recorded without its {listed(lacking)}"
    if actor.type == "Articulated":
        size = int(np.prod(tracks["pose"].shape, dtype=np.int64))
        if actor.position_size != actor.velocity_size:
            return f"{name} has joints of more than one degree of freedom in the model"
        if size != actor.position_size:
            return (
                f"{name} has {size} degrees of freedom, and the model's "
                f"{actor.position_size}"
            )
    elif (actor.position_size, actor.velocity_size) != (
        RIGID_POSITIONS,
        RIGID_VELOCITIES,
    ):
        return f"{name} is a free body, and the model's has a joint"
    return ""


def _fields(actor: Actor, row: int, known: tuple[str, ...]) -> list[FieldPair]:
    found = []
    for name, track in actor.fields.tracks.items():
        what = meaning(name)
        if name not in known or not isinstance(track, Track):
            continue
        if actor.type == "Articulated" and what.kind == "velocity":
            continue  # its links', each of which has a line of its own
        if what.kind in COMPARED and what.kind != "target" and track.dtype.kind == "f":
            rotation = what.components == XYZW
            found.append(
                FieldPair(actor.name, name, what.unit, rotation, row, what.kind, track)
            )
    return found
