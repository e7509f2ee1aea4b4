"""Step a recording again from its snapshots, and say where it departs, and how far."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.errors import IsoscopeError
from isoscope.core.recording.labelled.records import DIGEST_BYTES
from isoscope.core.recording.model import StepKind
from isoscope.core.replay.compare import TOLERANCE
from isoscope.core.replay.driver import Driven, Driver, Part
from isoscope.core.replay.engine import ReplayError, doubts_of
from isoscope.core.replay.replay_report import Outcome, report
from isoscope.core.replay.stepwise import Stepwise
from isoscope.core.replay.tape import tapes
from isoscope.core.replay.twice import restore_twice

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from isoscope.core.isolation.context import Examined
    from isoscope.core.recording.labelled import records as r
    from isoscope.core.recording.tracks import Array
    from isoscope.core.replay.engine import Engine, EngineMaker
    from isoscope.core.replay.replay_forms import Mode, Replay, RestoreTwice
    from isoscope.core.replay.states import Keeper
    from isoscope.core.replay.tape import Tape

    Progress = Callable[[int, int], None]

TWICE_STEPS = 20  # control steps after the snapshot, unless told


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """What is stepped again.

    Attributes
    ----------
    start
        The native row to begin at; the last snapshot before it is where stepping
        begins. None is the beginning.
    env
        The environment that is compared; None for all.
    steps
        Control steps of each environment; None for all.
    mode
        See `isoscope.core.replay.replay_forms.Replay`.
    twice
        Whether each environment's first snapshot is restored twice, too.
    tolerances
        By field's name, in its unit. With any, only what is beyond is a divergence.
    """

    start: int | None = None
    env: int | None = None
    steps: int | None = None
    mode: Mode = "actions"
    twice: bool = False
    tolerances: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Watch:
    """Who looks on; see `replay`."""

    progress: Progress | None
    keeper: Keeper | None
    keep_cancelled: bool


def replay(
    examined: Examined,
    make: EngineMaker,
    options: ReplayOptions | None = None,
    progress: Progress | None = None,
    keeper: Keeper | None = None,
    *,
    keep_cancelled: bool = False,
) -> Replay:
    """Step a recording again and compare every native step.

    Parameters
    ----------
    examined
        A labelled recording.
    make
        Makes the engine for each scene.
    progress
        Called with steps done and all; what it raises, `CancelledError` say, stops it.
    keeper
        Takes every state that is compared, to be looked at; None keeps none.
    keep_cancelled
        Whether what was compared until then is said where `progress` raises
        `CancelledError`, as it is where an engine dies.

    Raises
    ------
    IsoscopeError
        If the recording can't be stepped again, with the reason: no snapshots or
        inputs, snapshots cut or of another build or precision, an environment or a
        field that isn't there. Nothing was stepped.
    """
    options = options or ReplayOptions()
    found = tapes(examined)
    _refuse_unknown(examined, found, options)
    outcome = Outcome(examined, options.mode, dict(options.tolerances), TOLERANCE)
    watch = _Watch(progress, keeper, keep_cancelled)
    outcome.absent = [
        e for e in examined.environments() if not any(e in t.envs for t in found)
    ]
    for tape in found:
        envs = [e for e in tape.envs if options.env in (None, e)]
        if not envs:
            continue
        runs = [[env] for env in envs] if options.mode == "alone" else [envs]
        engine = make(tape.blueprint)
        outcome.engine = engine.name
        outcome.doubts += [d for d in doubts_of(engine) if d not in outcome.doubts]
        try:
            for chosen in runs:
                _one(tape, engine, chosen, options, outcome, watch)
                if outcome.stopped:
                    break
        finally:
            engine.close()
        if outcome.stopped:
            break
    return report(outcome)


def _refuse_unknown(
    examined: Examined, found: list[Tape], options: ReplayOptions
) -> None:
    doing = f"stepping {examined.file} again"
    envs = sorted({env for tape in found for env in tape.envs})
    if options.env is not None and options.env not in envs:
        there = ", ".join(map(str, envs))
        raise ReplayError(
            f"{doing}: it has no environment {options.env}; there are {there}"
        )
    names = sorted({one.name for tape in found for one in tape.states})
    for name in options.tolerances:
        if name not in names:
            raise ReplayError(
                f"{doing}: a tolerance for {name}, which is no compared field; there "
                f"are {', '.join(names)}"
            )


def _one(
    tape: Tape,
    engine: Engine,
    envs: list[int],
    options: ReplayOptions,
    outcome: Outcome,
    watch: _Watch,
) -> None:
    """Step environments of one scene again in one engine."""
    alone = envs[0] if options.mode == "alone" else None
    compared = {env: span for env in envs if (span := _span(tape, env, options))}
    if not compared:
        return
    starts = [
        at
        for env in ([alone] if alone is not None else tape.envs)
        if (at := _start(tape, env, min(first for first, _ in compared.values())))
        is not None
    ]
    if not starts:
        outcome.unchecked.append(f"{_named(envs)} has no snapshot to begin from")
        return
    start, last = min(starts), max(last for _, last in compared.values())
    _check_snapshots(tape, engine, start, last, alone)
    fields = [one for one in tape.states if engine.has(one.actor, one.name)]
    for one in tape.states:
        if one not in fields:
            outcome.unchecked.append(f"the engine has no field {one.full_name}")
    by_bits = not options.tolerances
    seen = Stepwise(
        fields, options.tolerances, TOLERANCE, by_bits=by_bits, keeper=watch.keeper
    )
    part = Part(start, compared, alone, options.mode == "pinned")
    driven = Driver(tape, engine, part, seen).run(
        watch.progress, keep_cancelled=watch.keep_cancelled
    )
    _count_before(tape, start, compared, driven)
    outcome.take(tape, seen, driven)
    if options.twice and not driven.stopped:
        try:
            for env in envs:
                outcome.twice += _twice(tape, engine, env, compared, options)
        except ReplayError as error:
            driven.stopped = f"restoring twice: {error}"


def _named(envs: list[int]) -> str:
    return f"env {', '.join(map(str, envs))}"


def _own(tape: Tape, env: int) -> Array:
    """The environment's rows, resets left out: these are only in snapshots."""
    labels = tape.examined.attribution.labels
    rows = tape.rows[labels.env[tape.rows] == env]
    found: Array = rows[labels.kind[rows] != StepKind.RESET]
    return found


def _span(tape: Tape, env: int, options: ReplayOptions) -> tuple[int, int] | None:
    """The first and last row to compare; None where there is none."""
    rows = _own(tape, env)
    rows = rows[rows >= (options.start or 0)]
    if options.steps is not None and len(rows):
        labels = tape.examined.attribution.labels
        place = np.stack([labels.episode[rows], labels.control_step[rows]])
        new = (np.diff(place, axis=1) != 0).any(axis=0)
        number = np.concatenate([[0], np.cumsum(new)])
        rows = rows[number < options.steps]
    return (int(rows[0]), int(rows[-1])) if len(rows) else None


def _start(tape: Tape, env: int, row: int) -> int | None:
    """The row of the last snapshot before a row, else of the first after it."""
    before = tape.snapshot_before(env, row)
    if before is not None:
        return before
    later = [
        at
        for at, taken in tape.snapshots.items()
        if any(s.env in (env, -1) for s in taken)
    ]
    return min(later, default=None)


def _check_snapshots(
    tape: Tape, engine: Engine, start: int, last: int, alone: int | None
) -> None:
    """Refuse before anything is stepped what would be refused on the way."""
    for row, taken in tape.snapshots.items():
        if not start <= row <= last:
            continue
        for snapshot in taken:
            if alone is not None and snapshot.env not in (alone, -1):
                continue
            data = tape.labelled.snapshot_data(snapshot.id) or b""
            try:
                _check_snapshot(tape, engine, snapshot, data)
            except IsoscopeError as error:
                place = f"snapshot {snapshot.id}, after native step {row}"
                raise ReplayError(
                    f"stepping {tape.examined.file} again: {place}: {error}"
                ) from None


def _check_snapshot(
    tape: Tape, engine: Engine, snapshot: r.Snapshot, data: bytes
) -> None:
    if not data:
        raise ReplayError("it holds no bytes; record it anew")
    own = hashlib.blake2b(data, digest_size=DIGEST_BYTES).digest()
    if any(snapshot.digest) and own != snapshot.digest:
        raise ReplayError("it is cut or damaged; record it anew")
    first = tape.blueprint
    build, header = snapshot.engine or {}, snapshot.header or {}
    if build != first.build:
        raise ReplayError("it is of another build than the first one")
    if str(header.get("topology", "")) != first.topology:
        raise ReplayError("it is of a scene with other actors than the first one")
    engine.check_bytes(data)


def _count_before(
    tape: Tape, start: int, compared: Mapping[int, tuple[int, int]], driven: Driven
) -> None:
    """Steps before the first snapshot can't be taken either."""
    for env, (first, last) in compared.items():
        rows = _own(tape, env)
        missed = int(((rows >= first) & (rows <= min(start, last))).sum())
        if missed:
            driven.unknown[env] = driven.unknown.get(env, 0) + missed


def _twice(
    tape: Tape,
    engine: Engine,
    env: int,
    compared: Mapping[int, tuple[int, int]],
    options: ReplayOptions,
) -> list[RestoreTwice]:
    span = compared.get(env)
    if span is None:
        return []
    after = _start(tape, env, span[0])
    if after is None:
        return []
    substeps = max(tape.labelled.identity.substeps or 1, 1)
    most = (options.steps or TWICE_STEPS) * substeps
    labels = tape.examined.attribution.labels
    rows = tape.rows[(labels.env[tape.rows] == env) & (tape.rows > after)][:most]
    if not len(rows) or labels.kind[rows[0]] == StepKind.RESET:
        return []
    return [restore_twice(tape, engine, env, rows)]
