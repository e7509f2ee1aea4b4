"""What a recording can be used for, and why not, in plain words.

Reasons follow from what the recorder writes: a SuperDex event recording holds states
after each step, and no snapshots, actions, rewards, seeds or engine version. Where a
step began can be worked out from it, by the velocities. A format that holds more says
so in the recording's notes, under the names in `SAID`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from isoscope.core.recording.model import Actor, Recording

# Keys of notes by which a reader says that the source holds something.
SAID = ("snapshots", "actions", "rewards", "engine", "seeds")
POSES = ("translation", "pose", "displacement")
# A body whose start can be worked out: where its centre is, and how fast it moved.
MOTION = ("translationCom", "vcom")


class Answer(msgspec.Struct):
    """Yes or no, and why."""

    answer: Literal["yes", "no"]
    reason: str


class Supports(msgspec.Struct):
    """What a recording can be used for."""

    playback: Answer
    attribution: Answer
    resimulation: Answer
    gradients: Answer
    transitions: Answer
    bitwise: Answer


def supports(recording: Recording) -> Supports:
    """Judge a recording by what it holds."""
    said = recording.notes
    again = _needs(
        recording, ("snapshots", "actions"), "so its steps can't be simulated again"
    )
    if "restore" in said:
        again = Answer("no", said["restore"])
    gradients = again
    if again.answer == "no" and "restore" not in said:
        gradients = _needs(
            recording, ("snapshots", "actions"), "so there is nothing to differentiate"
        )
    return Supports(
        playback=_playback(recording),
        attribution=_attribution(recording),
        resimulation=again,
        gradients=gradients,
        transitions=_needs(
            recording, ("actions", "rewards"), "so it has no transitions to export"
        ),
        bitwise=_needs(
            recording,
            ("snapshots", "actions", "engine"),
            "so no replay of it can be compared bit for bit",
        ),
    )


_WORDS = {"engine": "engine version"}


def _needs(recording: Recording, needed: tuple[str, ...], otherwise: str) -> Answer:
    missing = [_WORDS.get(n, n) for n in needed if n not in recording.notes]
    if not missing:
        return Answer("yes", f"it holds {_listed([_WORDS.get(n, n) for n in needed])}")
    none = _listed([f"no {what}" for what in missing])
    return Answer("no", f"it holds {none}, {otherwise}")


def _playback(recording: Recording) -> Answer:
    if (short := _too_short(recording)) is not None:
        return short
    posed = [actor for actor in recording.actors if _present(actor, POSES, any)]
    if not posed:
        return _no_state(recording)
    movers = [actor for actor in recording.actors if not actor.static]
    many = sum(actor in movers for actor in posed)
    return Answer("yes", f"it holds the poses of {many} of {len(movers)} moving actors")


def _attribution(recording: Recording) -> Answer:
    labels = recording.labels
    if labels is not None and bool((labels.env >= 0).any()):
        return Answer("yes", "its labels say whose each step was")
    if (short := _too_short(recording)) is not None:
        return short
    moving = [actor for actor in recording.actors if _present(actor, MOTION, all)]
    if moving:
        bodies = "1 body" if len(moving) == 1 else f"{len(moving)} bodies"
        return Answer("yes", f"the velocities of {bodies} tell where each step began")
    if any(_present(actor, POSES, any) for actor in recording.actors):
        return Answer(
            "no", "it holds no velocities, so where a step began can't be worked out"
        )
    return _no_state(recording)


def _no_state(recording: Recording) -> Answer:
    if recording.labelled is not None:
        return Answer("no", "its environments told no actor's state")
    return Answer(
        "no", "it holds no actor's state (record_dynamic_actor_state was off)"
    )


def _too_short(recording: Recording) -> Answer | None:
    if len(recording) == 0:
        return Answer("no", "it holds no step")
    if "restore" in recording.notes:
        return Answer("no", "it is a single state")
    return None


def _present(
    actor: Actor, fields: tuple[str, ...], judge: Callable[[Iterable[bool]], bool]
) -> bool:
    tracks = [actor.fields.get(name) for name in fields]
    return judge(t is not None and t.present_count() > 0 for t in tracks)


def _listed(words: list[str]) -> str:
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"
