"""Restores a snapshot twice: what follows has to be a function of it alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.model import StepKind
from isoscope.core.replay.driver import Driver, Part
from isoscope.core.replay.replay_forms import RestoreTwice
from isoscope.core.summary import counted

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array
    from isoscope.core.replay.engine import Engine
    from isoscope.core.replay.tape import Tape

BETWEEN = 15  # native steps on, between the two


def restore_twice(tape: Tape, engine: Engine, env: int, rows: Array) -> RestoreTwice:
    """Run from a snapshot, on and further, and from it again.

    Parameters
    ----------
    engine
        Made for the tape; what it holds is overwritten.
    rows
        int64 [n]: the environment's native rows, the first of which comes right after
        one of its snapshots; they are taken as far as its episode goes.

    Raises
    ------
    IsoscopeError
        If the engine refuses the snapshot.
    """
    after = tape.snapshot_before(env, int(rows[0]))
    assert after is not None
    snapshot = next(s for s in tape.snapshots[after] if s.env in (env, -1))
    data = tape.labelled.snapshot_data(snapshot.id) or b""
    begins = tape.examined.attribution.labels.kind[rows] == StepKind.RESET
    rows = rows[: int(np.argmax(begins))] if begins.any() else rows
    config = Driver(tape, engine, Part(after, {}, alone=env), None)
    config.run()
    first = _follow(tape, engine, env, data, rows)
    h_s = float(tape.examined.recording.steps.h_s[rows[-1]])
    for _ in range(BETWEEN):
        engine.step(h_s, np.array([tape.world(env)], np.int64))
    second = _follow(tape, engine, env, data, rows)
    apart = [k for k, (a, b) in enumerate(zip(first, second, strict=True)) if a != b]
    equal = not apart
    steps = counted(len(rows), "native step")
    return RestoreTwice(
        env=env,
        snapshot=snapshot.id,
        after=after,
        steps=len(rows),
        between=BETWEEN,
        equal=equal,
        first_difference=apart[0] if apart else None,
        why=(
            f"{steps} after snapshot {snapshot.id} are the same twice, to the last bit"
            if equal
            else (
                f"restore is not a function of the state: from snapshot {snapshot.id}, "
                f"twice, the state differs after step {apart[0]} of {steps}"
            )
        ),
    )


def _follow(
    tape: Tape, engine: Engine, env: int, data: bytes, rows: Array
) -> list[bytes]:
    """The whole state after each of these steps."""
    engine.restore_bytes(data)
    world = np.array([tape.world(env)], np.int64)
    states = []
    for row in rows.tolist():
        for control in tape.controls:
            window = control.track.read(row, row + 1)
            if window.valid[0]:
                engine.apply(control.actor, control.name, window.values, world)
        engine.step(float(tape.examined.recording.steps.h_s[row]), world)
        states.append(engine.state_bytes())
    return states
