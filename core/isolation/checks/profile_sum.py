"""A profile whose parts are more than the whole: added twice, or ms taken for s."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isoscope.core.isolation.findings import Finding
from isoscope.core.isolation.profile_entries import Entries
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.isolation.words import env_named, place_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.findings import Severity
    from isoscope.core.isolation.labelled_context import LabelledContext

ID = "profile-sum"
SEVERITY: Severity = "warning"
ABOUT = "profile entries added twice, or in milliseconds that say seconds"
NEEDS = "a profile with entries and what contains them, as the tap records it"
ROUNDING = 1.02  # by which parts may exceed the whole
CLOCK_S = 50e-6  # what measuring itself takes
THOUSAND = 1e3


class _Whole(NamedTuple):
    """An entry with parts: its index, and theirs."""

    at: int
    parts: list[int]


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding a whole whose parts are more."""
    window = context.tells(NEEDS)
    entries = Entries(window.labelled)
    if not len(entries):
        if not len(window.transitions) and not len(window.steps):
            return
        raise CannotRunError("no profile is recorded", NEEDS)
    for whole in _too_much(entries):
        yield _finding(window, entries, whole)


def _too_much(entries: Entries) -> Iterator[_Whole]:
    """Yield wholes whose parts add up to more than they are."""
    seconds, group = entries.seconds, entries.group
    known = np.isfinite(seconds)
    own = _key(group, entries.name)
    inside = np.flatnonzero(known & ~entries.top)
    if not len(inside):
        return
    # The whole of each part: the entry of that name in its group.
    order = np.argsort(own, kind="stable")
    wanted = _key(group[inside], entries.parent[inside])
    at = np.minimum(np.searchsorted(own[order], wanted), len(order) - 1)
    whole = order[at]
    has = (own[whole] == wanted) & known[whole]
    inside, whole = inside[has], whole[has]
    total = np.bincount(whole, seconds[inside], len(entries))
    # One that is there twice contains its parts twice.
    twice = np.bincount(np.searchsorted(own[order], own), minlength=len(order))
    times = np.maximum(twice[np.searchsorted(own[order], own)], 1)
    wrong = known & (total > seconds * times * ROUNDING + CLOCK_S)
    for index in np.flatnonzero(wrong).tolist():
        yield _Whole(index, inside[whole == index].tolist())


def _key(group: np.ndarray, name: np.ndarray) -> np.ndarray:
    return (group.astype(np.int64) << 32) | (name.astype(np.int64) & 0xFFFFFFFF)


def _cause(entries: Entries, whole: _Whole) -> tuple[str, int, str]:
    """What happened: a word, the entry that did it, and what to do."""
    seconds = entries.seconds
    size = float(seconds[whole.at])
    parts = np.array(whole.parts)
    total = float(seconds[parts].sum())
    limit = size * ROUNDING + CLOCK_S
    names = entries.name[parts]
    for name in np.unique(names).tolist():
        own = parts[names == name]
        if len(own) > 1:
            rest = total - float(seconds[own[1:]].sum())
            if rest <= limit:
                why = "is added twice"
                return why, int(own[-1]), "Add each entry once, where it is measured."
    largest = int(parts[np.argmax(seconds[parts])])
    rest = total - float(seconds[largest])
    if rest + float(seconds[largest]) / THOUSAND <= limit:
        why = "is in milliseconds where it says seconds"
        return why, largest, "Give every entry the unit that its value is in."
    why = "is the largest of parts that are more than the whole"
    return why, largest, "Look whether parts overlap, or run on other threads."


def _finding(window: LabelledContext, entries: Entries, whole: _Whole) -> Finding:
    why, cause, remedy = _cause(entries, whole)
    index = whole.at
    seconds = entries.seconds
    total = float(seconds[np.array(whole.parts)].sum())
    t, row = int(entries.transition[index]), int(entries.row[index])
    table = window.transitions
    told = 0 <= t - table.first < len(table)
    env = int(entries.env[index])
    episode = k = None
    if told:
        at = t - table.first
        env = env if env >= 0 else int(table.env[at])
        episode = int(table.episode[at]) if table.episode[at] >= 0 else None
        k = int(table.control_step[at]) if table.control_step[at] >= 0 else None
        row = row if row >= 0 else int(table.last_row[at])
    place = place_text(episode, k)
    name, part = (entries.text("name", i) for i in (index, cause))
    headline = f"the parts of {name!r} add up to more than it is"
    headline += f" in {place}" if place else ""
    who = "" if env < 0 else f" of {env_named(env)}"
    return Finding(
        id=ID,
        severity=SEVERITY,
        env=env if env >= 0 else None,
        episode=episode,
        control_step=k,
        native=(row, row) if row >= 0 else None,
        field=part,
        value=total,
        expected=float(seconds[index]),
        headline=headline,
        message=(
            f"{headline}{who}: {total:.4g} s of {float(seconds[index]):.4g} s, since "
            f"{part!r} {why}"
        ),
        remedy=remedy,
        evidence={"parts_s": total, "whole_s": float(seconds[index]), "entry": cause},
        transition=t if told else None,
    )
