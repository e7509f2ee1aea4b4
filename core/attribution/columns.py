"""From lineages and environments to the columns of the result, row by row."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.attribution.by_labels import NAMED
from isoscope.core.attribution.lineages import Birth
from isoscope.core.attribution.mean_velocity import HUGE
from isoscope.core.attribution.runs import broken_off, head_rest
from isoscope.core.recording.model import StepKind

if TYPE_CHECKING:
    from isoscope.core.attribution.lineages import Lineage
    from isoscope.core.attribution.segments import Chains
    from isoscope.core.attribution.settle import Settled
    from isoscope.core.recording.tracks import Array, Int64Array

UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class Episodes:
    """Per lineage: its environment, episode, and the control steps done before it.

    -1 where unknown. `env` is -1 where the steps can't be given to any environment.
    """

    env: list[int]
    episode: list[int]
    done: list[int]


def number(settled: Settled, counted: Counted) -> Episodes:
    """Final numbers of environments, episodes and control steps, lineage by lineage.

    Parameters
    ----------
    settled
        Lineages and provisional environments.
    counted
        Control steps within each lineage.
    """
    claims, found, named = settled.claims, settled.lineages, settled.named
    ends = counted.total
    names = _names(settled)
    env: list[int] = []
    episode: list[int] = []
    done: list[int] = []
    for lineage in found:
        claim = claims[lineage.index]
        hidden = claim.nameless or (claim.gap and not claim.linked)
        env.append(UNKNOWN if hidden else names.get(claim.env, UNKNOWN))
        before = claim.orphan
        # No step is missing: the count goes on.
        known_gap = claim.not_finite and claim.linked and before >= 0
        if lineage.birth is Birth.RESET:
            while before >= 0 and episode[before] < 0:
                before = claims[before].orphan
            episode.append(1 if before < 0 else episode[before] + 1)
            done.append(0)
        elif (claim.gap and not known_gap) or lineage.birth is Birth.BLIND:
            episode.append(UNKNOWN if before >= 0 else 1)
            done.append(UNKNOWN if before >= 0 else 0)
        elif (lineage.birth is Birth.FIRST and not known_gap) or (
            claim.linked and before < 0 and not claim.rivals
        ):
            episode.append(1)
            done.append(0)
        else:
            # A rival that was merged may be part of one that comes later in the list.
            earlier = [before] if before >= 0 else list(claim.rivals)
            if any(k >= len(episode) for k in earlier):
                earlier = []
            known = before >= 0 or claim.linked
            episode.append(_common([episode[k] for k in earlier]) if known else 1)
            counts = [
                UNKNOWN if done[k] < 0 else done[k] + int(ends[k]) for k in earlier
            ]
            done.append(_common(counts))
        if lineage.index in named.episode:
            episode[-1] = named.episode[lineage.index]
        if lineage.index in named.rows and lineage.birth is not Birth.RESET:
            row, control = named.rows[lineage.index]
            if counted.control[row] >= 0:
                done[-1] = max(control - int(counted.control[row]), 0)
    return Episodes(env, episode, done)


def _names(settled: Settled) -> dict[int, int]:
    """Final numbers by provisional ones: labelled, then by first appearance.

    Those that are proven come before the own numbers of what isn't linked.
    """
    claims = settled.claims
    names = {c.env: c.env - NAMED for c in claims if c.env >= NAMED}
    taken = set(names.values())
    free = (k for k in count() if k not in taken)
    for linked in (True, False):
        for lineage in settled.lineages:
            claim = claims[lineage.index]
            if claim.env < 0 or claim.linked is not linked:
                continue
            if claim.env not in names:
                names[claim.env] = next(free)
    return names


def _common(values: list[int]) -> int:
    """The value that all of them have, else unknown."""
    return values[0] if values and len(set(values)) == 1 else UNKNOWN


@dataclass(frozen=True, slots=True)
class Counted:
    """Control steps within each lineage.

    Attributes
    ----------
    control
        int64 [T]: from 1 within the lineage; 0 for a reset, or for rows at the
        recording's beginning that end a control step begun before it; -1 unknown.
    substep
        int64 [T]; -1 where unknown.
    total
        int64 [lineages]: control steps of each lineage.
    cut
        int: how many rows at the beginning end a control step begun before it.
    """

    control: Int64Array
    substep: Int64Array
    total: Int64Array
    cut: int


def count_control_steps(settled: Settled, rows: int) -> Counted:
    """Count control steps run by run: an environment is left only between two."""
    per_step = settled.substeps.count
    control = np.full(rows, UNKNOWN, np.int64)
    substep = np.full(rows, UNKNOWN, np.int64)
    total = np.zeros(len(settled.lineages), np.int64)
    runs = settled.runs
    if not len(runs):
        return Counted(control, substep, total, 0)
    inside = np.flatnonzero(runs.run_of >= 0)
    run_of = runs.run_of[inside]
    begins = np.concatenate([[0], np.cumsum(runs.length)[:-1]])
    nth = np.arange(len(inside)) - begins[run_of]
    reset = runs.reset[run_of]
    control[inside[reset]] = substep[inside[reset]] = 0
    if per_step is None:
        return Counted(control, substep, total, 0)
    rest = head_rest(runs, settled.lineages, per_step)
    blocks = -(-runs.length // per_step)
    off = broken_off(runs, per_step)
    blocks[runs.reset | off] = 0
    if rest:
        blocks[0] = int(runs.length[0]) // per_step
    first = _earlier_blocks(settled, blocks, per_step, total)
    nth = nth - np.where(run_of == 0, rest, 0)
    at = inside[~reset]
    step = nth[~reset]
    control[at] = first[run_of[~reset]] + step // per_step + 1
    substep[at] = step % per_step
    control[inside[off[run_of]]] = substep[inside[off[run_of]]] = UNKNOWN
    return Counted(control, substep, total, rest)


def _earlier_blocks(
    settled: Settled, blocks: Int64Array, per_step: int, total: Int64Array
) -> Int64Array:
    """Control steps before each run within its lineage; `total` is filled in."""
    runs = settled.runs
    order = np.argsort(runs.lineage, kind="stable")
    running = np.cumsum(blocks[order]) - blocks[order]
    of = runs.lineage[order]
    starts = np.flatnonzero(np.concatenate([[True], of[1:] != of[:-1]]))
    base = np.zeros(len(order), np.int64)
    base[starts] = running[starts]
    running = running - np.maximum.accumulate(base)
    first = np.empty(len(order), np.int64)
    first[order] = running
    np.add.at(total, runs.lineage, blocks)
    for lineage in settled.lineages:
        for rewind in lineage.rewinds:
            _go_back(settled, lineage, rewind.row, rewind.to_row, first, per_step)
        if lineage.rewinds:
            mine = np.flatnonzero(runs.lineage == lineage.index)
            total[lineage.index] = first[mine[-1]] + blocks[mine[-1]]
    return first


def _go_back(
    settled: Settled,
    lineage: Lineage,
    row: int,
    to_row: int,
    first: Int64Array,
    per_step: int,
) -> None:
    """After a rewind the count goes on from the state that was restored."""
    runs = settled.runs
    here = int(runs.run_of[row])
    wanted = 0
    if to_row >= 0:
        there = int(runs.run_of[to_row])
        if not runs.reset[there]:
            inside = runs.run_of[int(runs.first[there]) : to_row + 1] == there
            wanted = int(first[there]) - (-int(inside.sum()) // per_step)
    later = (runs.lineage == lineage.index) & (np.arange(len(runs)) >= here)
    first[later] += wanted - int(first[here])


@dataclass(frozen=True, slots=True)
class Clocks:
    """Scene time and confidence, carried along the chains."""

    scene_s: Array
    since_s: Array
    confidence: Array


def carry(
    chains: Chains, settled: Settled, h_s: Array, certain: Array, linked: Array
) -> Clocks:
    """Add up h from each reset on, and multiply what every step depends on.

    Parameters
    ----------
    chains, settled
        What hangs on what.
    h_s
        float64 [T].
    certain
        float64 [T]: confidence in each row's parent.
    linked
        float64 [lineages]: confidence in each lineage's environment.
    """
    rows = len(chains)
    scene, since = np.full(rows, np.nan), np.full(rows, np.nan)
    confidence = np.zeros(rows)
    segment_of = np.frombuffer(chains.segment_of, np.int32)
    order = np.argsort(segment_of, kind="stable")
    order = order[segment_of[order] >= 0]
    numbers = segment_of[order]
    cuts = np.searchsorted(numbers, np.arange(len(chains.segments) + 1))
    # No time adds up from made-up values as large as floats get.
    step = np.where(np.abs(h_s) <= HUGE, h_s, np.nan)
    segments = sorted(chains.segments, key=lambda s: (s.start, s.tip))
    births = {x.start: x for x in settled.lineages if settled.merged[x.index] < 0}
    for segment in segments:
        mine = order[cuts[segment.index] : cuts[segment.index + 1]]
        if not len(mine):
            continue
        lineage = births.get(segment.start)
        start = segment.parent_row
        if segment.start in settled.joined:
            start = int(chains.before[segment.start])
        known, at, sure = np.nan, 0.0, 1.0
        if lineage is not None and lineage.birth is Birth.RESET:
            known = 0.0
        elif start >= 0:
            known, at, sure = scene[start], since[start], confidence[start]
        elif segment.pool is not None:
            tips = sorted(segment.pool.tips)
            times = scene[tips]
            known = float(times[0]) if (times == times[0]).all() else np.nan
        chain = certain[mine].copy()
        if lineage is not None:
            chain[0] = 1.0
            sure = float(linked[lineage.index])
        scene[mine] = np.cumsum(np.concatenate([[known], step[mine]]))[1:]
        since[mine] = np.cumsum(np.concatenate([[at], step[mine]]))[1:]
        confidence[mine] = sure * np.cumprod(chain)
    for row in settled.by_order:
        # These begin inside a segment: only the order of the turns shows them.
        cut = settled.lineage_of_row == settled.lineage_of_row[row]
        confidence[cut] *= linked[settled.lineage_of_row[row]]
    return Clocks(scene, since, confidence)


def kinds(settled: Settled, h_s: Array, free: bool) -> Array:
    """The `StepKind` [T] of each row."""
    kind = np.full(len(h_s), int(StepKind.UNKNOWN), np.int8)
    inside = settled.lineage_of_row >= 0
    kind[inside] = StepKind.FREE if free else StepKind.SUBSTEP
    if settled.substeps.count is not None and len(settled.runs):
        off = broken_off(settled.runs, settled.substeps.count)
        kind[inside] = np.where(
            off[settled.runs.run_of[inside]], StepKind.FREE, kind[inside]
        )
    for lineage in settled.lineages:
        if lineage.birth is Birth.RESET:
            kind[lineage.start] = StepKind.RESET
    kind[h_s == 0] = StepKind.ZERO
    return kind
