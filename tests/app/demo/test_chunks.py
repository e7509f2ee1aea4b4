from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.app.demo.chunks import CHUNKS, ChunkTeller
from isoscope.app.demo.placing import next_order
from isoscope.app.demo.run import DemoRun
from isoscope.app.demo.settings import DemoSettings
from isoscope.core.envs.rollout.chunked import ChunkedPolicy
from isoscope.core.errors import UsageError
from isoscope.core.trajectory.events import Stage

if TYPE_CHECKING:
    from isoscope.core.trajectory.events import ChunkEvent

C = 3
STEPS = 3 * C * CHUNKS + 1  # the second source's halves come a step late


def run_chunks(**settings) -> tuple[ChunkTeller, list[ChunkEvent], list[np.ndarray]]:
    events: list[ChunkEvent] = []
    actions: list[np.ndarray] = []
    demo = DemoSettings(steps=STEPS, device="cpu", **settings)
    with DemoRun(demo) as run:
        rollout = run.parts.rollout
        teller = ChunkTeller(rollout, C, events.append)
        rollout.policy = ChunkedPolicy(rollout.policy, C, teller.planned)
        rollout.stored.connect(lambda _, rows: actions.append(rows.action.copy()))
        run.run()
    return teller, events, actions


@pytest.mark.usefixtures("on_rails")
@pytest.mark.parametrize("envs", [1, 3, 4])
@pytest.mark.parametrize("mode", ["next_step", "same_step", "disabled"])
def test_every_chunk_is_joined_and_every_epoch_goes_out(envs: int, mode: str):
    teller, events, _ = run_chunks(envs=envs, autoreset=mode)
    sources = 2 if envs == 4 else 1
    told = Counter(event.stage for event in events)
    assert told[Stage.FAILED] == told[Stage.WARNED] == told[Stage.REPEATED] == 0
    assert told[Stage.JOINED] == told[Stage.FLUSHED] == 3 * CHUNKS * sources
    assert teller.flushed > 0
    rows: Counter[object] = Counter()
    for event in events:
        if event.stage is Stage.ENV_PART:
            rows[event.key] += event.rows
    complete = [key for key in rows if key.step_id < 3]
    assert {rows[key] for key in complete} == {envs // sources}


@pytest.mark.usefixtures("on_rails")
def test_the_second_source_waits_for_its_policy():
    _, events, _ = run_chunks(envs=4)
    first = {}
    for event in events:
        first.setdefault(event.key, event.stage)
    kinds = {key.env_rank: set() for key in first}
    for key, stage in first.items():
        if key.step_id < 3:
            kinds[key.env_rank].add(stage)
    assert kinds == {0: {Stage.POLICY_PART}, 1: {Stage.ENV_PART}}


@pytest.mark.usefixtures("on_rails")
def test_chunks_change_no_action():
    _, _, chunked = run_chunks(envs=2)
    plain: list[np.ndarray] = []
    with DemoRun(DemoSettings(envs=2, steps=STEPS, device="cpu")) as run:
        run.parts.rollout.stored.connect(
            lambda _, rows: plain.append(rows.action.copy())
        )
        run.run()
    assert np.array_equal(np.stack(chunked), np.stack(plain))


@pytest.mark.usefixtures("on_rails")
@pytest.mark.parametrize("mode", ["next_step", "same_step", "disabled"])
@pytest.mark.parametrize("name", ["missed-restore", "identical-start"])
def test_a_fault_that_is_wanted_now_happens_soon(name: str, mode: str):
    told: list[tuple[str, str]] = []
    settings = DemoSettings(envs=2, steps=150, autoreset=mode, device="cpu")
    with DemoRun(settings) as run:
        rollout = run.parts.rollout

        def ask(*_: object) -> None:
            if rollout.rounds == 20:
                run.put_next(name, 1, lambda *answer: told.append(answer))

        rollout.profiled.connect(ask)
        done = run.run()
    (place, why) = told[0]
    assert not why
    assert [(f.name, f.place) for f in done.faults] == [(name, place)]
    assert done.faults[0].happened


@pytest.mark.usefixtures("on_rails")
def test_what_can_not_be_put_in_is_refused():
    with DemoRun(DemoSettings(envs=2, steps=3, device="cpu")) as run:
        with pytest.raises(UsageError, match="no such fault"):
            next_order("nothing", 0, run.parts.rollout)
        with pytest.raises(UsageError, match="environment 7"):
            next_order("missed-restore", 7, run.parts.rollout)
