"""A field that is there in some steps and not in others, where it should be in all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.context import runs
from isoscope.core.isolation.findings import Finding
from isoscope.core.isolation.stored_absent import stored_as_zero
from isoscope.core.isolation.words import natives
from isoscope.core.recording.schema import meaning
from isoscope.core.recording.tracks import Track
from isoscope.core.summary import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.findings import Severity
    from isoscope.core.recording.model import Actor
    from isoscope.core.recording.tracks import Array

ID = "absent-field"
SEVERITY: Severity = "error"
ABOUT = "fields that some steps lack, which a careless reader takes for zero"

# Other kinds come and go by their nature: contacts and distances with the contact, a
# target with its controller.
STATE = ("pose", "velocity")


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding for the fields of an actor that the same steps lack."""
    subject = context.subject
    h_s = subject.recording.steps.h_s
    scenes, scene_of_row = _scenes(context)
    for actor in subject.recording.actors:
        scene = scenes.get(actor.index)
        alike: dict[bytes, tuple[Array, list[str]]] = {}
        for name, track in actor.fields.tracks.items():
            if not isinstance(track, Track) or meaning(name).kind not in STATE:
                continue
            rows = absent_rows(actor, track, len(subject.recording))
            if scene is not None:  # in all other scenes' rows it can't be
                rows = rows[scene_of_row[rows] == scene]
            # A step of 0 s has no velocity; that it is there is another note.
            rows = rows[~(h_s[rows] <= 0)]
            if len(rows):
                alike.setdefault(rows.tobytes(), (rows, []))[1].append(name)
        for rows, names in alike.values():
            present = actor.fields[names[0]].present_count()
            yield _finding(context, actor, rows, names, present)
    if context.labelled is not None:
        yield from stored_as_zero(context.labelled)


def _scenes(context: Context) -> tuple[dict[int, int], Array]:
    """The scene of each actor, and of each native step, where these are told."""
    labelled = context.subject.recording.labelled
    if labelled is None or context.labelled is None:
        return {}, np.zeros(0, np.int64)
    told = [labelled.actors[number] for number in sorted(labelled.actors)]
    scenes = {index: actor.info.scene for index, actor in enumerate(told)}
    return scenes, context.labelled.steps.scene


def _finding(
    context: Context, actor: Actor, rows: Array, names: list[str], present: int
) -> Finding:
    first, last = int(rows[0]), int(rows[-1])
    env, episode, control_step = context.subject.place(first)
    what = f"{actor.name}.{names[0]}"
    if len(names) > 1:
        what += f" and {counted(len(names) - 1, 'more field')} of it"
    verb = "are" if len(names) > 1 else "is"
    where = natives(first, last) if last - first + 1 == len(rows) else None
    where = where or f"{counted(len(rows), 'native step')}, first in {first}"
    headline = f"{what} {verb} absent in {where}"
    return Finding(
        id=ID,
        severity=SEVERITY,
        env=env,
        episode=episode,
        control_step=control_step,
        native=(first, last),
        field=f"{actor.name}.{names[0]}",
        headline=headline,
        message=f"{headline}: recorded in {counted(present, 'other native step')}",
        remedy=(
            "Absent is not zero: mask these rows. Record with the same options "
            "throughout if the field is needed."
        ),
        evidence={
            "absent": len(rows),
            "recorded": present,
            "fields": [f"{actor.name}.{name}" for name in names],
        },
        tainted=tuple(runs(rows)),
    )


def absent_rows(actor: Actor, track: Track, rows: int) -> Array:
    """int64 [n]: rows of the actor's life in which the field was not recorded."""
    end = rows if actor.destroyed_native is None else actor.destroyed_native
    window = track.read(actor.created_native, max(end, actor.created_native))
    missing = actor.created_native + np.flatnonzero(~window.valid)
    return np.setdiff1d(missing, np.array(sorted(track.odd), np.int64))
