"""A field that is there in some steps and not in others, where it should be in all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.context import runs
from isoscope.core.isolation.findings import Finding
from isoscope.core.recording.schema import meaning
from isoscope.core.recording.tracks import Track

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
    """Yield one finding a field of an actor."""
    subject = context.subject
    for actor, name, track in subject.tracks():
        if not isinstance(track, Track) or meaning(name).kind not in STATE:
            continue
        rows = absent_rows(actor, track, len(subject.recording))
        # A step of 0 s has no velocity; that it is there is another note.
        rows = rows[~(subject.recording.steps.h_s[rows] <= 0)]
        if len(rows) == 0:
            continue
        first, last = int(rows[0]), int(rows[-1])
        env, episode, control_step = subject.place(first)
        yield Finding(
            id=ID,
            severity=SEVERITY,
            env=env,
            episode=episode,
            control_step=control_step,
            native=(first, last),
            field=f"{actor.name}.{name}",
            message=(
                f"{actor.name}.{name} is absent in {len(rows)} native steps, first in "
                f"{first}, and recorded in {track.present_count()}"
            ),
            remedy=(
                "Absent is not zero: mask these rows. Record with the same options "
                "throughout if the field is needed."
            ),
            evidence={"absent": len(rows), "recorded": track.present_count()},
            tainted=tuple(runs(rows)),
        )


def absent_rows(actor: Actor, track: Track, rows: int) -> Array:
    """int64 [n]: rows of the actor's life in which the field was not recorded."""
    end = rows if actor.destroyed_native is None else actor.destroyed_native
    window = track.read(actor.created_native, max(end, actor.created_native))
    missing = actor.created_native + np.flatnonzero(~window.valid)
    return np.setdiff1d(missing, np.array(sorted(track.odd), np.int64))
