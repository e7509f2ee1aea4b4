"""How long re-simulation takes: a jump to a control step, and comparing on the way.

A jump restores the last snapshot before a control step and steps forward to it. Against
it: a bare loop over the same native steps, which restores, sets the recorded inputs and
steps, in a scene that is there already. Comparing is measured against stepping with the
states read, and against bare stepping, over the same control steps.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from isoscope.app.environments import EnvFactory
from isoscope.app.replaying import make_builtin
from isoscope.core.attribution.attributor import attribute
from isoscope.core.bench import interleave, ratio
from isoscope.core.isolation.context import Examined
from isoscope.core.recording.registry import load
from isoscope.core.replay.driver import Driver, Part
from isoscope.core.replay.stepwise import Stepwise
from isoscope.core.replay.tape import tapes
from isoscope.core.tap.api import attach, detach

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array
    from isoscope.core.replay.engine import Engine
    from isoscope.core.replay.tape import Tape

CONTROL_STEPS, EVERY = 500, 50
JUMPS = 8  # in a round; on average 25 control steps after a snapshot
COMPARED = 100  # control steps in a round of comparing
ROUNDS = 7
SEED = 20261130


class _Reading(Stepwise):
    """Takes states and does not look at them."""

    def add(self, env: int, row: int, values: list[Array]) -> None:
        """Take one."""

    def state(self, env: int, row: int, *, equal: bool) -> None:
        """Take one."""


def run() -> dict[str, Any]:
    """Measure on a CartPole; gives `runs` and the figures."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with tempfile.TemporaryDirectory() as folder:
            examined = _recorded(Path(folder) / "bench.isoscope.h5")
            (tape,) = tapes(examined)
            engine = make_builtin(tape.blueprint)
            try:
                return _measure(tape, engine)
            finally:
                engine.close()
    finally:
        torch.set_num_threads(threads)


def _recorded(path: Path) -> Examined:
    factory = EnvFactory("CartPole", {"max_steps": -1, "upright_rad": 1e9})
    env = attach(factory(0), record=path, snapshots_every=EVERY)
    chance = np.random.default_rng(SEED)
    env.reset(seed=0)
    for _ in range(CONTROL_STEPS):
        env.step(chance.uniform(-1, 1, 1).astype(np.float32))
    env.close()
    detach()
    recording = load(path)
    return Examined(recording, attribute(recording))


def _measure(tape: Tape, engine: Engine) -> dict[str, Any]:
    labels = tape.examined.attribution.labels
    last_of = {int(k): row for row, k in enumerate(labels.control_step.tolist())}
    chance = np.random.default_rng(SEED)
    goals = [last_of[k] for k in chance.integers(1, CONTROL_STEPS, JUMPS).tolist()]
    starts = [tape.snapshot_before(0, row) for row in goals]
    span = last_of[0] + 1, last_of[COMPARED]

    def jump() -> None:
        for goal in goals:
            start = tape.snapshot_before(0, goal)
            assert start is not None
            _drive(tape, engine, start, (goal, goal), _stepwise(tape))

    def bare_jump() -> None:
        for start, goal in zip(starts, goals, strict=True):
            assert start is not None
            _bare(tape, engine, start, goal, inputs)

    def compare() -> None:
        _drive(tape, engine, last_of[0], span, _stepwise(tape))

    def reading() -> None:
        seen = _Reading(tape.states, {}, 0.0, by_bits=True)
        _drive(tape, engine, last_of[0], span, seen)

    def stepping() -> None:
        _drive(tape, engine, last_of[0], span, None)

    inputs = [(c.actor, c.name, c.track.values, c.track.valid) for c in tape.controls]
    sides = {
        "jump": jump,
        "bare": bare_jump,
        "compare": compare,
        "reading": reading,
        "stepping": stepping,
    }
    took = {n: s.median_s for n, s in interleave(sides, ROUNDS).items()}
    seen = _stepwise(tape)
    _drive(tape, engine, last_of[0], (last_of[0] + 1, len(labels) - 1), seen)
    return {
        "runs": ROUNDS,
        "ratio_jump": ratio(took["jump"], took["bare"]),
        "ratio_compare": ratio(took["compare"], took["reading"]),
        "ratio_compare_bare": ratio(took["compare"], took["stepping"]),
        "jump_s": took["jump"] / JUMPS,
        "bare_s": took["bare"] / JUMPS,
        "compare_s": took["compare"],
        "reading_s": took["reading"],
        "stepping_s": took["stepping"],
        "control_steps_compared": COMPARED,
        "snapshots_every": EVERY,
        "bit_for_bit": seen.env(0).differing == 0 and seen.env(0).compared > 0,
    }


def _stepwise(tape: Tape) -> Stepwise:
    return Stepwise(tape.states, {}, 0.0, by_bits=True)


def _drive(
    tape: Tape,
    engine: Engine,
    start: int,
    span: tuple[int, int],
    seen: Stepwise | None,
) -> None:
    Driver(tape, engine, Part(start, {0: span}, alone=0), seen).run()


def _bare(tape: Tape, engine: Engine, start: int, goal: int, inputs: list[Any]) -> None:
    """Step without looking at anything."""
    (snapshot,) = tape.snapshots[start]
    data = tape.labelled.snapshot_data(snapshot.id)
    assert data is not None
    engine.restore_bytes(data)
    world = np.zeros(1, np.int64)
    h_s = tape.examined.recording.steps.h_s
    for row in range(start + 1, goal + 1):
        for actor, name, values, valid in inputs:
            if valid[row]:
                engine.apply(actor, name, values[row : row + 1], world)
        engine.step(float(h_s[row]), world)
