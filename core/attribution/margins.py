"""How far the second best candidate is: the distance that a decision rests on.

For each run of steps that follow one another at once, the other states that wait to be
continued at that time are looked at: all of them while they are few, and of many the
`NEAREST` on the line of projection, so that the margin is then an upper bound.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isoscope.core.attribution.candidates import Matches
    from isoscope.core.attribution.predictor import Layout, Motion
    from isoscope.core.attribution.segments import Chains
    from isoscope.core.recording.tracks import Array, Int64Array

NEAREST = 32
CHUNK = 1024


def margins(
    motion: Motion,
    layout: Layout,
    matches: Matches,
    chains: Chains,
    waiting: list[int],
) -> Array:
    """Distance [n] in metres from each row's start to its second best candidate.

    Parameters
    ----------
    motion, layout, matches
        Of the block.
    chains
        With the block taken in.
    waiting
        The tips before the block.

    Returns
    -------
    The largest deviation of any position, of the candidate where that is smallest; NaN
    where there is no other candidate.
    """
    start = motion.start
    rows = len(motion)
    out = np.full(rows, np.nan)
    parents = np.array(chains.parent_of[start : start + rows], np.int64)
    before = np.array(chains.before[start : start + rows], np.int64)
    inside = np.array(chains.segment_of[start : start + rows], np.int64) >= 0
    heads = np.flatnonzero(inside & ((parents != before) | (parents < 0)))
    if not inside.any():
        return out
    # A block that begins inside a run: its first row is a head for this purpose.
    first = int(np.flatnonzero(inside)[0])
    if len(heads) == 0 or heads[0] != first:
        heads = np.concatenate([[first], heads])
    others = _neighbours(matches, heads + start, parents[heads], before[heads], waiting)
    run = np.searchsorted(heads, np.arange(rows), "right") - 1
    metres = layout.metres
    begins = (motion.end - motion.moved)[:, metres]
    ends = matches.nodes.ends[:, metres]
    known = np.isfinite(begins).any(axis=1) & inside
    for low in range(0, rows, CHUNK):
        at = np.flatnonzero(known[low : low + CHUNK]) + low
        if len(at) == 0:
            continue
        which = others[run[at]]
        off = np.abs(begins[at][:, None] - ends[which])
        off[~np.isfinite(off)] = 0.0
        worst = off.max(axis=2, initial=0.0)
        worst[which < 0] = np.inf
        nearest = worst.min(axis=1, initial=np.inf)
        out[at] = np.where(np.isfinite(nearest), nearest, np.nan)
    return out


def _neighbours(
    matches: Matches,
    heads: Int64Array,
    parents: Int64Array,
    before: Int64Array,
    waiting: list[int],
) -> Array:
    """Node numbers [heads, NEAREST] of the waiting states around each; -1 is none."""
    node_of = {row: k for k, row in enumerate(matches.nodes.rows.tolist())}
    place = matches.place.tolist()
    start_place = matches.start_place.tolist()
    offset = int(matches.nodes.rows[-1]) + 1 - len(start_place) if place else 0
    tips = sorted((place[node_of[t]], node_of[t]) for t in waiting if t in node_of)
    flat: list[int] = []
    nothing = [-1] * NEAREST
    half = NEAREST // 2
    lists = zip(heads.tolist(), parents.tolist(), before.tolist(), strict=True)
    for head, parent, previous in lists:
        end = node_of.get(previous)
        if end is not None:
            entry = (place[end], end)
            at = bisect_left(tips, entry)
            if at == len(tips) or tips[at] != entry:
                insort(tips, entry)
        own = node_of.get(parent)
        if own is not None:
            entry = (place[own], own)
            at = bisect_left(tips, entry)
            if at < len(tips) and tips[at] == entry:
                del tips[at]
        if not tips:
            flat += nothing
            continue
        if len(tips) > NEAREST:
            here = start_place[head - offset]
            centre = bisect_left(tips, (here, -1)) if here == here else 0
            low = min(max(centre - half, 0), len(tips) - NEAREST)
            flat += [node for _, node in tips[low : low + NEAREST]]
        else:
            flat += [node for _, node in tips]
            flat += nothing[len(tips) :]
    return np.array(flat, np.int64).reshape(-1, NEAREST)
