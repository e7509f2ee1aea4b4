"""What there is in one of the simulator's scenes, told to a recording."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from isoscope.core.recording.labelled import records as r

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoscope.core.recording.labelled.intake_recorder import IntakeRecorder
    from isoscope.core.scene import Scene, SceneRow

CONTACTS = "contacts_"
UNITS = {"translation": "m", "rotation": "", "translationCom": "m", "rotationCom": ""}
UNITS |= {"vcom": "m/s", "omega": "rad/s"}


def tell_actors(
    scene: Scene, recorder: IntakeRecorder, number: int
) -> Mapping[int, int]:
    """Tell a scene's rows as actors; their numbers in the recording by row.

    Parameters
    ----------
    number
        The scene's.
    """
    numbers = {}
    for row in scene.rows:
        info = r.ActorInfo(
            name=row.name,
            type=row.type,
            handle=(number + 1 << 32) + row.index,
            scene=number,
            static=row.static,
            created_row=recorder.rows,
            reference=_surface(scene, row),
        )
        numbers[row.index] = recorder.actor(info)
    return numbers


def state_fields(
    scene: Scene, numbers: Mapping[int, int], seen: Sequence[int]
) -> tuple[list[tuple[int, str]], list[r.Field]]:
    """What is read after each native step: rows with names, and how that is kept.

    Parameters
    ----------
    numbers
        The actors' in the recording, by row.
    seen
        Numbers of worlds that may be read.
    """
    read: list[tuple[int, str]] = []
    fields: list[r.Field] = []
    for row in scene.rows:
        if row.static:
            continue
        for name in row.fields:
            if name.startswith(CONTACTS):
                continue
            shape = scene.read(row.index, name, seen[:1]).shape[1:]
            read.append((row.index, name))
            unit = UNITS.get(name, "m or rad")
            actor = numbers[row.index]
            fields.append(r.Field(name=name, shape=shape, unit=unit, actor=actor))
    return read, fields


def width_of(fields: Sequence[r.Field]) -> int:
    """How many numbers these are."""
    return sum(prod(field.shape) for field in fields)


def _surface(scene: Scene, row: SceneRow) -> dict[str, Any]:
    found: dict[str, Any] = {}
    surface = scene.surface(row.index)
    if surface is not None:
        found["surfRefPositions"] = surface.vertices
        found["surfFaceIndices"] = surface.faces.reshape(-1, 1)
    if row.static:
        for name in ("translation", "rotation"):
            if name in row.fields:
                found[name] = scene.read(row.index, name, [0])[0]
    return found
