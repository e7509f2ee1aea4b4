"""The words in the scene's corners: what is shown, and what is not and why. No Qt."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoscope.widgets.scene.shapes import Kind
from isoscope.widgets.scene.state import Pose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.between import Between
    from isoscope.core.recording.tracks import Array
    from isoscope.widgets.scene.shapes import Shapes
    from isoscope.widgets.scene.state import Intent, Overlay, SceneState
    from isoscope.widgets.scene.survey import Survey

MOST_NAMES = 3


@dataclass(frozen=True, slots=True)
class Caption:
    """The caption's lines.

    Attributes
    ----------
    title
        Where the cursor is.
    details
        Secondary facts, one line.
    notes
        What isn't as it looks; each one line.
    """

    title: str = ""
    details: str = ""
    notes: tuple[str, ...] = ()


def caption_of(
    shapes: Shapes,
    state: SceneState,
    intent: Intent,
    overlay: Overlay | None = None,
    overlays: int = 0,
    remark: str = "",
    tainted: str = "",
    made_up: str = "",
    row_is: str = "native step",
) -> Caption:
    """The caption for this state.

    `remark` says why it isn't the cursor's, `tainted` why it can't be trusted,
    `made_up` what of it was not recorded, `row_is` what the recording's rows are.
    """
    if state.row < 0:
        return Caption()
    native = state.whose.env >= 0 and row_is == "native step"
    details = [f"native step {state.row}"] if native else []
    details += _times(state)
    if intent.contacts and state.contacts.recorded:
        count = len(state.contacts)
        details.append(f"{count} contact" if count == 1 else f"{count} contacts")
    notes = [note for note in (made_up, tainted) if note]
    if remark:
        notes.append(f"shown: {remark}")
    if overlay is not None:
        cycle = " — O cycles" if overlays > 1 else " — O hides it"
        notes.append(f"overlay: {overlay.name}{cycle}")
    notes += _selected(shapes, state, intent)
    notes += _missing(shapes, state)
    bare = [s.index for s in shapes.of_kind(Kind.BARE) if state.drawn[s.index]]
    bare = [i for i in bare if not shapes[i].problem]
    if bare:
        notes.append(f"shown as a cross, no mesh recorded: {_names(shapes, bare)}")
    return Caption(_title(state, row_is), " · ".join(details), tuple(notes))


def interpolated(between: Between | None) -> str:
    """The mark of a state that was not recorded; empty where it was."""
    if between is None:
        return ""
    part = 100 * between.part
    return (
        f"interpolated: {part:.0f} % of the way from native step {between.before:,} "
        f"to {between.after:,}; nothing was recorded there"
    )


def _title(state: SceneState, row_is: str) -> str:
    whose = state.whose
    if whose.env < 0:
        word = "native step" if row_is == "native step" else "row"
        return f"{word} {state.row} of {max(state.rows - 1, 0)}"
    parts = [f"env {whose.env}"]
    if whose.episode >= 0:
        parts.append(f"episode {whose.episode}")
    if whose.control_step >= 0:
        parts.append(f"control step {whose.control_step}")
    return " · ".join(parts)


def _times(state: SceneState) -> list[str]:
    parts = []
    if math.isfinite(state.time_s):
        parts.append(f"t {state.time_s:.5g} s")
    if math.isfinite(state.h_s):
        parts.append(f"h {state.h_s:.5g} s")
    return parts


def _selected(shapes: Shapes, state: SceneState, intent: Intent) -> list[str]:
    chosen = intent.selected
    if chosen is None or chosen >= len(shapes):
        return []
    name = shapes[chosen].name
    if not state.drawn[chosen]:
        gone = "not drawn" if state.poses[chosen] else "not in this step"
        if chosen in intent.hidden:
            gone = "hidden"
        return [f"selected: {name} ({gone})"]
    at = state.transforms[chosen][:, 3]
    place = " ".join(f"{x:.4g}" for x in at)
    return [f"selected: {name} at {place} m"]


def _missing(shapes: Shapes, state: SceneState) -> list[str]:
    notes = []
    for pose, text in (
        (Pose.NOT_RECORDED, "pose not recorded, drawn faded where created"),
        (Pose.NOWHERE, "pose not recorded, not drawn"),
        (Pose.NOT_FINITE, "pose is not finite (NaN or infinity), not drawn"),
    ):
        actors = state.having(pose)
        if actors:
            notes.append(f"{text}: {_names(shapes, actors)}")
    damaged = [s.index for s in shapes.all if s.problem and state.poses[s.index]]
    if damaged:
        first = shapes[damaged[0]].problem
        notes.append(f"mesh can't be drawn ({first}): {_names(shapes, damaged)}")
    return notes


def _names(shapes: Shapes, actors: Sequence[int]) -> str:
    names = [shapes[i].name for i in actors[:MOST_NAMES]]
    more = len(actors) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")


def about_floor(shapes: Shapes, survey: Survey, origin: Array, direction: Array) -> str:
    """What the ground is, where this ray meets it; empty where it doesn't.

    A plane's normal is not in the file, so what is drawn has to be told.
    """
    height = float(survey.up @ origin) - survey.ground_m
    if height * float(survey.up @ direction) >= 0:
        return ""
    names = ", ".join(shapes[i].name for i in survey.grounds)
    if not names:
        return "The recording has no ground: the grid only shows distances."
    return (
        f"{names}: the file holds neither mesh nor normal, so it is drawn as a "
        "horizontal plane (across gravity) through its origin."
    )


def nice(value: float) -> float:
    """The largest of 1, 2 or 5 times a power of ten that is not above `value`."""
    if not math.isfinite(value) or value <= 0:
        return 0.0
    decade = 10.0 ** math.floor(math.log10(value))
    for step in (5.0, 2.0, 1.0):
        if step * decade <= value * (1 + 1e-9):
            return step * decade
    return decade


def quantity(value: float, unit: str) -> str:
    """A round number with a prefix for people: ``"50 mm"``, ``"2 kN"``."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g} {unit}"
    for factor, prefix in ((1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ")):
        if abs(value) >= factor * (1 - 1e-9):
            return f"{value / factor:.4g} {prefix}{unit}"
    return f"{value:.3g} {unit}"
