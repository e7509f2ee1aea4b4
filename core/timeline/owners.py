"""Lanes that say whose each native step was: the ribbon, and one an environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.model import StepKind
from isoscope.core.recording.scenes import Scenes
from isoscope.core.timeline.model import Lane, LaneKind
from isoscope.core.timeline.pieces import Items, Look, Marks, RowBits, Shape

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.recording.model import Labels
    from isoscope.core.recording.tracks import Array, Int64Array

# The ribbon's colours repeat after this many environments; the bit above them all is
# for a row whose owner is unknown.
OWNER_COLOURS = 8
UNKNOWN_OWNER = 1 << OWNER_COLOURS


def owner_lane(labels: Labels, scenes: Scenes = Scenes.SHARED) -> Lane:
    """The ribbon: which environment the scene stepped, one bit a colour."""
    return ribbon(RowBits(owner_bits(labels.env)), scenes)


def ribbon(rows: RowBits, scenes: Scenes = Scenes.SHARED) -> Lane:
    """The lane of owners' bits."""
    shared = scenes in (Scenes.SHARED, Scenes.ALONE)
    native = scenes is not Scenes.UNTOLD
    step = "native step" if native else "control step"
    about = "whose native step the scene took" if shared else f"who took each {step}"
    return Lane(
        key="owner",
        label="scene owner" if shared else "taken by",
        about=f"{about}; hatched where unknown",
        kind=LaneKind.OWNER,
        rows=rows,
    )


def owner_bits(env: Array) -> Array:
    """uint16 [T]: a bit for the colour of each row's environment, or for none."""
    bits = np.left_shift(1, env % OWNER_COLOURS).astype(np.uint16)
    bits[env < 0] = UNKNOWN_OWNER
    return np.asarray(bits)


def environment_lanes(labels: Labels) -> list[Lane]:
    """A lane for what is unknown, if anything is, then one for each environment.

    An environment's control step is an item from its first native step to the next
    control step's: the environment is in it, or waits in it, all that time. The rows
    that were its own are its active part.
    """
    env = np.asarray(labels.env)
    if not len(env):
        return []
    # int16 sorts in linear time; more environments than that are sorted as they are.
    small = env.astype(np.int16) if env.max() < 2**15 else env
    order = np.argsort(small, kind="stable").astype(np.int64)
    grouped = env[order]
    cuts = np.flatnonzero(np.diff(grouped)) + 1
    unknown = np.flatnonzero(env < 0).astype(np.int64)
    # Ahead of the others, so that it is in sight however many there are.
    lanes = [_unknown(unknown)] if len(unknown) else []
    lanes += [
        _environment(int(env[rows[0]]), rows, labels)
        for rows in np.split(order, cuts)
        if env[rows[0]] >= 0
    ]
    return lanes


def _environment(env: int, rows: Int64Array, labels: Labels) -> Lane:
    return environment_lane(env, lambda: own_content(rows, labels))


def environment_lane(env: int, make: Callable[[], tuple[Items, Marks]]) -> Lane:
    """The lane of an environment's control steps."""
    return Lane(
        key=f"env:{env}",
        label=f"env {env}",
        about=f"control steps of environment {env}; the bright part is its own rows",
        kind=LaneKind.ITEMS,
        env=env,
        make=make,
    )


def own_content(rows: Int64Array, labels: Labels) -> tuple[Items, Marks]:
    """An environment's control steps over its rows, and where episodes begin."""
    episode, control = labels.episode[rows], labels.control_step[rows]
    reset = (labels.kind[rows] == StepKind.RESET) | (control == 0)
    begins = np.ones(len(rows), np.bool_)
    begins[1:] = (np.diff(episode) != 0) | (np.diff(control) != 0)
    begins[1:] |= np.diff(reset) != 0
    # Steps that belong to no control step join where nothing came between them.
    free = control < 0
    begins[1:] |= free[1:] & (np.diff(rows) > 1)
    at = np.flatnonzero(begins)
    start = rows[at]
    active_stop = rows[np.append(at[1:], len(rows)) - 1] + 1
    stop = np.append(start[1:], active_stop[-1:])
    items = Items(
        start,
        np.maximum(stop, active_stop),
        active_stop,
        np.where(free[at], Look.PALE, Look.SOLID).astype(np.uint8),
        control[at].astype(np.int32),
    )
    return items, _borders(rows, episode, reset)


def _borders(rows: Int64Array, episode: Array, reset: Array) -> Marks:
    changed = np.zeros(len(rows), np.bool_)
    changed[1:] = np.diff(episode) != 0
    first_reset = reset.copy()
    first_reset[1:] &= ~reset[:-1] | changed[1:]
    at = np.flatnonzero(first_reset | changed)
    shapes = np.where(first_reset[at], Shape.RESET, Shape.EPISODE).astype(np.uint8)
    episodes = episode[at]

    return Marks(
        rows[at], shapes, lambda index: border_text(shapes[index], episodes[index])
    )


def border_text(shape: int, episode: int) -> str:
    """What a mark where an episode begins says."""
    which = f"episode {episode}" if episode >= 1 else "an episode of unknown number"
    return f"reset: {which} begins" if shape == Shape.RESET else which


def _unknown(rows: Int64Array) -> Lane:
    breaks = np.flatnonzero(np.diff(rows) > 1) + 1
    start = rows[np.insert(breaks, 0, 0)]
    stop = rows[np.append(breaks - 1, len(rows) - 1)] + 1
    count = len(start)
    items = Items(
        start,
        stop,
        stop,
        np.full(count, Look.HATCHED, np.uint8),
        np.full(count, -1, np.int32),
    )
    return Lane(
        key="env:?",
        label="unknown",
        about="native steps that could not be given to an environment",
        kind=LaneKind.ITEMS,
        env=-1,
        make=lambda: (items, Marks()),
    )
