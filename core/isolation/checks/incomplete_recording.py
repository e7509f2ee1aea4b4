"""Parts of a recording that are missing or could not be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.isolation.findings import Finding
from isoscope.core.isolation.missing_records import missing_records

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.findings import Severity
    from isoscope.core.recording.model import Recording

ID = "incomplete-recording"
SEVERITY: Severity = "warning"
ABOUT = "events that are missing or could not be read, and jumps that nothing explains"


def told_whole(context: Context) -> bool:
    """Whether a labelled recording says that no record of it is missing."""
    labelled = context.subject.recording.labelled
    return labelled is not None and not labelled.dropped()


def made_for(recording: Recording, native: int) -> bool:
    """Whether all bodies that move in a native step were created just before it."""
    moving = [a for a in recording.actors if not a.static and a.alive(native)]
    return bool(moving) and all(a.created_native == native for a in moving)


def run(context: Context) -> Iterator[Finding]:
    """Yield a finding for what could not be read, and one a jump."""
    subject = context.subject
    recording = subject.recording
    unread = [p for p in recording.problems if p.severity == "error"]
    if unread or not (recording.complete or recording.let_go):
        ends = [p for p in recording.problems if p.where == "/end"]
        first = next(iter([*unread, *ends]), None)
        what = str(first) if first else "its index was stopped before the end"
        yield Finding(
            id=ID,
            severity=SEVERITY,
            headline=f"not everything in {recording.name} could be read",
            message=f"not everything in {recording.name} could be read: {what}",
            remedy=(
                "Record again if you can. Rows next to what is missing can't be "
                "attributed, and episodes across it are not whole."
            ),
            evidence={
                "places": sum(p.count for p in unread),
                "complete": recording.complete,
                "native_steps": len(recording),
            },
        )
    if context.labelled is not None:
        yield from missing_records(context.labelled)
    if told_whole(context):
        return  # then somebody placed the bodies: see callback-moved-state
    for jump in subject.attribution.jumps:
        if made_for(recording, jump.native):
            continue  # where they were put is all that led to it
        env, episode, control_step = subject.place(jump.native)
        yield Finding(
            id=ID,
            severity=SEVERITY,
            env=env,
            episode=episode,
            control_step=control_step,
            native=(jump.native, jump.native),
            headline=f"something is missing before native step {jump.native}",
            message=(
                f"something is missing before native step {jump.native}: it begins in "
                "a state that no recorded step left and no reset made"
            ),
            remedy=(
                "Steps are missing before it, or somebody placed the bodies: nothing "
                "can be said of what led to this state."
            ),
            evidence={
                "after_native": jump.after_native if jump.after_native >= 0 else None
            },
        )
