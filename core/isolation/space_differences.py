"""Where recorded observations and actions differ from their spaces as declared."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.labelled_context import LabelledContext
    from isoscope.core.recording.labelled.records import Space
    from isoscope.core.recording.tracks import AnyTrack

GROUP = "observation_after"
READ_ROWS = 1 << 14  # at once


class SpaceDifference(NamedTuple):
    """What differs, why that is so, and in which field."""

    what: str
    why: str
    field: str


def space_differences(window: LabelledContext) -> Iterator[SpaceDifference]:
    """Yield where observations are not as their space, or spaces not alike."""
    spaces = [s for s in window.identity.spaces if s.role == "observation"]
    yield from _between(spaces)
    tracks = window.fields(GROUP)
    common = next((s for s in spaces if s.env == -1), None)
    had: dict[str, set[int]] = {}  # environments that had a field in another form
    several = any("#" in name for name in tracks)
    for name, track in tracks.items():
        first, mark, number = name.partition("#")
        if not several or (mark and not number.isdigit()):
            continue
        envs, before = _environments(window, track), had.setdefault(first, set())
        changes = not envs.isdisjoint(before)
        before |= envs
        if mark and changes:
            yield SpaceDifference(
                "the observations' dtype or shape changes during the run",
                f"{first} goes on as {track.dtype} of another kind than it began",
                f"{GROUP}.{name}",
            )
    plain = tracks.get("value")
    if common is None or plain is None or plain.ragged:
        return
    if common.dtype and common.dtype != plain.dtype.name:
        yield SpaceDifference(
            "observations are not of the declared dtype",
            f"{plain.dtype.name} is recorded, {common.dtype} is declared",
            f"{GROUP}.value",
        )
    field = getattr(plain, "field", None)
    if field is None:
        return
    if common.shape and math.prod(common.shape) != math.prod(field.shape):
        yield SpaceDifference(
            "observations are not of the declared shape",
            f"{math.prod(field.shape)} numbers are recorded, "
            f"{math.prod(common.shape)} are declared",
            f"{GROUP}.value",
        )
    if field.names and common.names and list(field.names) != list(common.names):
        same = sorted(field.names) == sorted(common.names)
        kind = "in another order" if same else "by other names"
        yield SpaceDifference(
            f"observations come {kind} than declared",
            f"{', '.join(field.names[:8])} are recorded, "
            f"{', '.join(common.names[:8])} are declared",
            f"{GROUP}.value",
        )


def _environments(window: LabelledContext, track: AnyTrack) -> set[int]:
    """Whose transitions have a field in this form."""
    env, first = window.transitions.env, window.transitions.first
    found: set[int] = set()
    for start in range(0, len(env), READ_ROWS):
        stop = min(start + READ_ROWS, len(env))
        there = track.read(first + start, first + stop).valid
        found.update(np.unique(env[start:stop][there]).tolist())
    return found


def _between(spaces: list[Space]) -> Iterator[SpaceDifference]:
    """Yield environments whose space is not that of the first one."""
    for space in spaces[1:]:
        one = spaces[0]
        who = f"env {space.env}" if space.env >= 0 else "another environment"
        for what in ("names", "units", "dtype", "shape"):
            mine, theirs = getattr(space, what), getattr(one, what)
            if mine and theirs and mine != theirs:
                said = "order or names" if what == "names" else what
                yield SpaceDifference(
                    f"the observations of {who} have another {said}",
                    f"{mine} where {theirs} is declared for the first one",
                    GROUP,
                )
                break
