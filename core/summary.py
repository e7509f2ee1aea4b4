"""One sentence that says what a recording is: the first thing anybody reads of it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isoscope.core.recording.model import Actor, Recording

SUMMED_ROWS = 1 << 16  # at once
NAMED_AT_MOST = 3  # more bodies than this are counted, not named


def summarize(recording: Recording) -> str:
    """Say in one sentence what the recording holds.

    ``"125 native steps over 2.42 s of CartPole: 1 articulated and 2 rigid actors,
    float32; a bare recording: no labels, seeds or actions."``

    Nothing is claimed that isn't in there: without a known h the duration is left out.
    """
    steps = len(recording)
    head = counted(steps, recording.row_is)
    lasts_s = duration_s(recording)
    if lasts_s is not None:
        head += f" over {duration(lasts_s)}"
    subject = _subject(recording)
    if subject:
        head += f" of {subject}"
    parts = [part for part in (_actors(recording), _precision(recording)) if part]
    body = f"{head}: {', '.join(parts)}" if parts else head
    return f"{body}{_bareness(recording)}."


def problem_counts(recording: Recording) -> tuple[int, int]:
    """How much could not be read, and how much else should be known, place by place."""
    errors = sum(p.count for p in recording.problems if p.severity == "error")
    every = sum(p.count for p in recording.problems)
    return errors, every - errors


def counted(number: int, noun: str) -> str:
    """A number and its noun, in the plural where it takes one: ``"2 actors"``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def listed(items: list[str]) -> str:
    """Items in a row: ``"a"``, ``"a and b"``, ``"a, b and c"``."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def duration(seconds: float) -> str:
    """A time span in three digits or more: ``"2.4 s"``, ``"12,345 s"``."""
    return f"{seconds:,.0f} s" if seconds >= 1000 else f"{seconds:.3g} s"


def duration_s(recording: Recording) -> float | None:
    """How long all its steps take together; None where no h is known.

    Nor is it known where the sum is beyond what a float holds.
    """
    total = 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, len(recording), SUMMED_ROWS):  # there may be millions
            h_s = recording.steps.h_s[start : start + SUMMED_ROWS]
            total += float(h_s[np.isfinite(h_s)].sum())
    return total if 0 < total < np.inf else None


def _bodies(recording: Recording) -> list[Actor]:
    """The actors that stand for something: no links of an articulation."""
    names = {a.name for a in recording.actors if a.type == "Articulated"}
    return [a for a in recording.actors if a.parent_name not in names]


def _subject(recording: Recording) -> str:
    """What it is of: the articulations, or else the bodies that move, if few."""
    bodies = _bodies(recording)
    chosen = [a for a in bodies if a.type == "Articulated"]
    chosen = chosen or [a for a in bodies if not a.static]
    names = list(dict.fromkeys(a.name for a in chosen))
    return listed(names) if len(names) <= NAMED_AT_MOST else ""


def _actors(recording: Recording) -> str:
    if not recording.actors:
        return "no actors"
    moving = Counter(a.type.lower() for a in recording.actors if not a.static)
    static = sum(bool(a.static) for a in recording.actors)
    parts = []
    if moving:
        kinds = listed([f"{number:,} {kind}" for kind, number in moving.items()])
        parts.append(f"{kinds} actor{'s' * (moving.total() != 1)}")
    if static:
        noun = "" if moving else f" actor{'s' * (static != 1)}"
        parts.append(f"{static:,} static{noun}")
    return listed(parts)


def _precision(recording: Recording) -> str:
    return "" if recording.real is None else str(recording.real.newbyteorder("="))


def _bareness(recording: Recording) -> str:
    if recording.labels is not None:
        return ""
    return "; a bare recording: no labels, seeds or actions"
