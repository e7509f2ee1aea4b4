"""Changes of the persistent configuration that a labelled recording tells, by whom."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.isolation.configuration_runs import Change, Runs, changes_of

if TYPE_CHECKING:
    from isoscope.core.isolation.labelled_context import LabelledContext
    from isoscope.core.recording.tracks import Array


@dataclass(frozen=True, slots=True)
class Told:
    """A change, and what the recording tells of it.

    Attributes
    ----------
    change
        Between which native steps, and whom it reached.
    scene
        Whose configuration.
    known
        Whether it is told who made it.
    keys
        The values that changed, by name; empty where they are not told.
    old, new
        Of the first of them.
    alike
        What makes several changes the same thing done again.
    """

    change: Change
    scene: int
    known: bool
    keys: tuple[str, ...]
    old: Any
    new: Any
    alike: tuple[object, ...]


def told_changes(window: LabelledContext) -> list[Told] | None:
    """Changes in scenes that are shared, and that reached somebody.

    None where neither digests nor changes of any configuration are recorded.
    """
    digests = window.steps.configuration
    if not digests.any() and not len(window.changes):
        return None
    found: list[Told] = []
    for scene in window.in_turn:
        rows = np.flatnonzero(window.steps.scene == scene)
        mine = np.flatnonzero(window.changes.scene == scene)
        mine = mine[np.argsort(window.changes.row[mine], kind="stable")]
        values = digests[rows]
        if not values.any():
            values = _numbered(window, mine, rows)
        known = values != 0
        rows, values = rows[known], values[known]
        if not len(rows):
            continue
        runs = Runs(rows, values, window.steps.env[rows], window.steps.reset[rows])
        which = _run_of(runs, window.changes.row[mine])
        who = window.changes.env[mine]
        named = (which > 0) & (who >= 0)
        runs.changer[which[named]] = who[named]
        certain = set(which[named].tolist())
        numbers = {int(runs.rows[s]): n for n, s in enumerate(runs.starts.tolist())}
        for change in changes_of(runs):
            number = numbers[change.after]
            records = mine[which == number]
            found.append(
                _told(window, scene, change, number in certain, records, values, runs)
            )
    return sorted(found, key=lambda one: one.change.after)


def _run_of(runs: Runs, rows: Array) -> Array:
    """The run that each change, at these rows, begins; -1 where it begins none."""
    first = runs.rows[runs.starts]
    number = np.searchsorted(first, rows)  # the first run that begins at or after it
    inside = number < len(first)
    number = np.where(inside, number, 0)
    # A change in the middle of a run of one value changed nothing.
    before = np.where(number > 0, runs.rows[runs.starts[number] - 1], -1)
    return np.where(inside & (rows > before), number, -1)


def _numbered(window: LabelledContext, mine: Array, rows: Array) -> Array:
    """uint64 [n]: a number for the values in force, put together from the changes."""
    state: dict[str, str] = {}
    numbers: dict[str, int] = {"{}": 1}
    ids = [1]
    for i in mine.tolist():
        key = window.changes.text("key", i)
        state[key] = json.dumps(window.changes.json("new", i), sort_keys=True)
        text = json.dumps(state, sort_keys=True)
        ids.append(numbers.setdefault(text, len(numbers) + 1))
    at = np.searchsorted(window.changes.row[mine], rows, "right")
    return np.array(ids, np.uint64)[at]


def _told(
    window: LabelledContext,
    scene: int,
    change: Change,
    known: bool,
    records: Array,
    values: Array,
    runs: Runs,
) -> Told:
    keys = tuple(dict.fromkeys(window.changes.text("key", i) for i in records.tolist()))
    old = new = None
    if len(records):
        first = int(records[0])
        same = [i for i in records.tolist() if window.changes.text("key", i) == keys[0]]
        old = window.changes.json("old", first)
        new = window.changes.json("new", same[-1])
    at = int(np.searchsorted(runs.rows, change.after))
    alike = (scene, change.suspect, int(values[at]))
    return Told(change, scene, known, keys, old, new, alike)
