"""Put the result together: columns, reasons and evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.attribution.by_labels import substeps_of
from isoscope.core.attribution.by_order import BY_ORDER
from isoscope.core.attribution.columns import (
    UNKNOWN,
    Episodes,
    carry,
    count_control_steps,
    kinds,
    number,
)
from isoscope.core.attribution.labels import NAMES
from isoscope.core.attribution.lineages import Birth
from isoscope.core.attribution.linker import Code
from isoscope.core.attribution.result import (
    Attribution,
    Jump,
    MissedRestore,
    Place,
    Reason,
    RewindSeen,
    Seen,
)
from isoscope.core.attribution.runs import Substeps
from isoscope.core.attribution.settle import Settled, settle
from isoscope.core.attribution.zero_steps import count_in, homes
from isoscope.core.errors import UsageError
from isoscope.core.recording.model import Labels, StepKind

if TYPE_CHECKING:
    from isoscope.core.attribution.attributor import Attributor
    from isoscope.core.attribution.labels import GivenLabels
    from isoscope.core.attribution.lineages import Lineage
    from isoscope.core.recording.tracks import Array

# Share of steps without a parent above which the predictor has the wrong idea.
UNEXPLAINED = 0.6
FEW_STEPS = 8


def assemble(
    attributor: Attributor, substeps: int | None, labels: GivenLabels | None
) -> Attribution:
    """The result for all rows taken in; see `Attributor.result`."""
    chains = attributor.chains
    rows = len(chains)
    if _unsupported(attributor):
        result = _nothing(attributor)
        if labels is not None and labels.certain:
            _take_over(result, labels)
        return result
    given = _given(substeps, labels)
    lost = attributor.lost.values[:rows]
    settled = settle(chains, attributor.twins(), lost, given, labels)
    counted = count_control_steps(settled, rows)
    episodes = number(settled, counted)
    h_s = np.array(attributor.recording.steps.h_s[:rows])
    certain = np.frombuffer(attributor.linker.confidence, np.float64)
    linked_by = np.array([c.confidence for c in settled.claims])
    clocks = carry(chains, settled, h_s, certain, linked_by)
    free = settled.substeps.count is None and not any(
        x.birth is Birth.RESET for x in settled.lineages
    )
    kind = kinds(settled, h_s, free)
    track = settled.lineage_of_row
    inside = track >= 0
    env, episode, done = (
        np.array([*values, UNKNOWN], np.int64)[track]
        for values in (episodes.env, episodes.episode, episodes.done)
    )
    control = np.where(
        (counted.control >= 0) & (done >= 0), counted.control + done, UNKNOWN
    )
    control[kind == StepKind.RESET] = 0
    substep = counted.substep.copy()
    if counted.cut:
        first = np.flatnonzero(inside)[: counted.cut]
        count = settled.substeps.count or 1
        control[first] = UNKNOWN
        substep[first] = count - counted.cut + np.arange(counted.cut)
    # What begins behind a gap may begin anywhere in a control step.
    behind = [
        settled.runs.run_of[x.start]
        for x in settled.lineages
        if settled.claims[x.index].gap and not settled.claims[x.index].not_finite
    ]
    substep[np.isin(settled.runs.run_of, behind)] = UNKNOWN
    result = Attribution(
        Labels(
            env.astype(np.int32),
            episode.astype(np.int32),
            control.astype(np.int32),
            substep.astype(np.int32),
            kind,
        ),
        linked=np.array([*(c.linked for c in settled.claims), False])[track],
        residual_m=attributor.residual_m.values.copy(),
        margin_m=attributor.margin_m.values.copy(),
        confidence=np.where(env >= 0, clocks.confidence, 0.0),
        reason=np.zeros(rows, np.int8),
        parent=np.array(chains.parent_of, np.int32),
        track=track.astype(np.int32),
        scene_time_s=clocks.scene_s,
        scene_time_since_s=clocks.since_s,
        displaced=attributor.displaced.values.copy(),
        displaced_actors=dict(attributor.displaced_actors),
        precision=dict(attributor.predictor.precision),
    )
    result.substeps = settled.substeps.count
    result.substeps_how = settled.substeps.how
    result.odd_runs = settled.substeps.odd_runs
    result.order = settled.order
    result.equal_resets = attributor.equal_resets()
    _pass_over_empty(result, attributor)
    count_in(result, settled.runs)
    _reasons(result, attributor, settled)
    if labels is not None and labels.certain:
        _take_over(result, labels)
    elif labels is not None:
        _fill_in(result, labels)
        result.notes += settled.named.notes
    _evidence(result, settled, episodes, attributor)
    _summary(result, settled, episodes)
    return result


def _given(substeps: int | None, labels: GivenLabels | None) -> Substeps | None:
    """M as somebody says it."""
    if substeps is not None:
        if substeps < 1:
            raise UsageError(f"a control step can't have {substeps} substeps")
        return Substeps(substeps, "given")
    said = substeps_of(labels) if labels is not None else None
    return None if said is None or labels is None else Substeps(said, labels.source)


def _fill_in(result: Attribution, given: GivenLabels) -> None:
    """Take over labels of steps that could not be given to anybody."""
    rows = len(result)
    named = (given.labels.env[:rows] >= 0) & (result.labels.env < 0)
    for name in NAMES:
        column, said = getattr(result.labels, name), getattr(given.labels, name)
        column[named] = said[:rows][named]
    resets = named & (result.labels.control_step == 0)
    known = named & (result.labels.kind == StepKind.UNKNOWN)
    result.labels.kind[known] = StepKind.SUBSTEP
    result.labels.kind[resets] = StepKind.RESET
    result.linked[named] = True
    result.confidence[named] = 1.0
    result.reason[named] = Reason.NONE


def _take_over(result: Attribution, given: GivenLabels) -> None:
    """Take labels of who saw the steps happen, wherever they say whose a step was.

    What the states say about missed restores and rewinds stays: a label says who
    stepped, not from which state.
    """
    rows = len(result)
    said, labels = given.labels, result.labels
    known = said.env[:rows] >= 0
    for name in NAMES:
        getattr(labels, name)[known] = getattr(said, name)[:rows][known]
    kind = said.kind[:rows]
    told = known & (kind != StepKind.UNKNOWN)
    labels.kind[told] = kind[told]
    result.linked[known] = True
    result.confidence[known] = 1.0
    result.reason[known] = Reason.NONE
    if result.substeps is None and (count := substeps_of(given)) is not None:
        result.substeps, result.substeps_how = count, given.source
    result.environments = len(np.unique(labels.env[labels.env >= 0]))
    result.episodes = _episodes(result)


def _episodes(result: Attribution) -> int:
    labels = result.labels
    known = (labels.env >= 0) & (labels.episode >= 0)
    pairs = np.stack([labels.env[known], labels.episode[known]], axis=1)
    return len(np.unique(pairs, axis=0))


def _pass_over_empty(result: Attribution, attributor: Attributor) -> None:
    """Steps without a state belong to whoever has the scene before and after them.

    Or to whom their transforms are, where they show those of one environment only.
    """
    chains, labels = attributor.chains, result.labels
    codes = attributor.codes.values
    empty = np.flatnonzero(codes == Code.EMPTY)
    if not len(empty):
        return
    h_s = attributor.recording.steps.h_s
    before = np.frombuffer(chains.before, np.int32)
    single = len(np.unique(labels.env[labels.env >= 0])) == 1
    stateful = np.flatnonzero(codes != Code.EMPTY)
    after = np.searchsorted(stateful, empty)
    shown = homes(attributor.recording, result, empty[h_s[empty] == 0])
    for row, k in zip(empty.tolist(), after.tolist(), strict=True):
        if h_s[row] != 0:
            continue  # time went by, and nobody knows for whom
        home = int(before[row])
        onward = int(stateful[k]) if k < len(stateful) else -1
        goes_on = onward >= 0 and result.parent[onward] == home
        if not (single or goes_on):
            home = shown.get(row, -1)
        if home < 0:
            continue
        labels.env[row] = labels.env[home]
        labels.episode[row] = labels.episode[home]
        result.linked[row] = result.linked[home]
        result.track[row] = result.track[home]
        result.confidence[row] = result.confidence[home]
        result.scene_time_s[row] = result.scene_time_s[home]
        result.scene_time_since_s[row] = result.scene_time_since_s[home]


def _reasons(result: Attribution, attributor: Attributor, settled: Settled) -> None:
    """Say why what is unknown is; the weightiest reason last, so that it stays."""
    labels, reason = result.labels, result.reason
    step = labels.kind == StepKind.SUBSTEP
    reason[result.displaced] = Reason.CALLBACK_MOVED
    _mark_always_displaced(result, attributor, reason)
    reason[step & (labels.control_step < 0)] = Reason.MID_EPISODE
    if result.substeps is None:
        reason[step] = Reason.M_UNDECIDABLE
    track = settled.lineage_of_row
    gaps = (c.gap and not (c.not_finite and c.linked) for c in settled.claims)
    gap = np.array([*gaps, False])[track]
    reason[gap] = Reason.GAP
    blind = np.array([*(x.birth is Birth.BLIND for x in settled.lineages), False])
    reason[blind[track]] = Reason.NO_VELOCITIES
    nameless = np.array([*(c.nameless for c in settled.claims), False])[track]
    reason[nameless] = Reason.IDENTICAL_STATES
    reason[(attributor.codes.values == Code.EMPTY) & (labels.env < 0)] = (
        Reason.NO_VELOCITIES
    )


def _nothing(attributor: Attributor) -> Attribution:
    """What is left to say where the predictor has the wrong idea."""
    rows = len(attributor)
    unknown = np.full(rows, np.nan)
    labels = Labels.unknown(rows)
    labels.kind[attributor.recording.steps.h_s[:rows] == 0] = StepKind.ZERO
    return Attribution(
        labels,
        linked=np.zeros(rows, np.bool_),
        residual_m=unknown,
        margin_m=unknown.copy(),
        confidence=np.zeros(rows),
        reason=np.full(rows, int(Reason.UNSUPPORTED_INTEGRATOR), np.int8),
        parent=np.full(rows, UNKNOWN, np.int32),
        track=np.full(rows, UNKNOWN, np.int32),
        scene_time_s=unknown.copy(),
        scene_time_since_s=unknown.copy(),
        substeps_how="undecidable: the velocities don't tell where a step began",
        origin="recording",
        displaced=np.zeros(rows, np.bool_),
        precision=dict(attributor.predictor.precision),
        notes=[
            f"{attributor.chains_without_parent()} of {rows} native steps begin where "
            f"nothing ended, by the {attributor.predictor.name} over a step: these "
            "velocities mean something else"
        ],
    )


def _mark_always_displaced(
    result: Attribution, attributor: Attributor, reason: Array
) -> None:
    """A body that is moved after every step is so in rows without a parent, too."""
    checked = int((result.parent >= 0).sum())
    if any(n >= 0.9 * checked > 0 for n in result.displaced_actors.values()):
        reason[(result.parent < 0) & (attributor.codes.values == Code.NORMAL)] = (
            Reason.CALLBACK_MOVED
        )


def _unsupported(attributor: Attributor) -> bool:
    normal = int((attributor.codes.values == Code.NORMAL).sum())
    return normal >= FEW_STEPS and (
        attributor.chains_without_parent() > UNEXPLAINED * normal
    )


def _evidence(
    result: Attribution, settled: Settled, episodes: Episodes, attributor: Attributor
) -> None:
    """Missed restores, rewinds and jumps."""
    claims = settled.claims
    lasts = {x.index: x.last for x in settled.lineages}
    for lineage in settled.lineages:
        claim = claims[lineage.index]
        if settled.merged[lineage.index] >= 0:
            continue
        if lineage.birth in (Birth.THIEF, Birth.COPY):
            by_order = lineage.start in settled.by_order
            kind: Seen = "copy" if lineage.birth is Birth.COPY else "scene"
            if by_order:
                kind = "order"
            victim = lineage.parent_row
            result.missed_restores.append(
                MissedRestore(
                    lineage.start,
                    result.place(lineage.start),
                    claim.linked,
                    _victim(result, settled, episodes, lineage),
                    victim,
                    lasts[claim.orphan] if claim.orphan >= 0 else -1,
                    (lineage.start, lineage.last),
                    kind,
                    BY_ORDER if by_order else float(claim.confidence),
                )
            )
        if claim.gap and not claim.not_finite:
            after = lasts[claim.orphan] if claim.orphan >= 0 else -1
            env = int(result.labels.env[lineage.start])
            result.jumps.append(Jump(lineage.start, env, after))
        for seen in lineage.rewinds:
            if attributor.lost.values[seen.row]:
                continue
            result.rewinds.append(
                RewindSeen(
                    seen.row,
                    int(result.labels.env[seen.row]),
                    seen.left_row,
                    seen.to_row,
                    _scene_time(result, seen.left_row),
                    _scene_time(result, seen.to_row),
                )
            )
    result.rewinds.sort(key=lambda r: r.native)


def _victim(
    result: Attribution, settled: Settled, episodes: Episodes, lineage: Lineage
) -> Place:
    """Whose state a lineage took."""
    if lineage.parent_row >= 0:
        return result.place(lineage.parent_row)
    # An unrecorded state: its owner is whoever goes on from it, too.
    home = settled.lineage_of_segment[lineage.parent]
    return Place(episodes.env[home], episodes.episode[home], episodes.done[home])


def _scene_time(result: Attribution, row: int) -> float:
    return float(result.scene_time_s[row]) if row >= 0 else float("nan")


def _summary(result: Attribution, settled: Settled, episodes: Episodes) -> None:
    labels = result.labels
    known = labels.env[(labels.env >= 0) & result.linked]
    result.environments = len(np.unique(known))
    result.episodes = _episodes(result)
    middle = any(x.birth is Birth.FIRST for x in settled.lineages)
    result.origin = "recording" if middle else "reset"
    if settled.substeps.odd_runs:
        result.notes.append(
            f"{len(settled.substeps.odd_runs)} runs of native steps are no multiple of "
            f"{settled.substeps.count} substeps, the first at native step "
            f"{settled.substeps.odd_runs[0]}"
        )
