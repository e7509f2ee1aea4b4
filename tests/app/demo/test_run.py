"""A demo can be paused, stepped, stopped and given faults while it runs."""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isoscope.app.demo.run import DemoRun
from isoscope.app.demo.settings import DemoSettings
from isoscope.core.envs.faults.order import parse_order
from isoscope.core.errors import UsageError

if TYPE_CHECKING:
    from isoscope.core.envs.rollout.records import StoredRows

WAIT_S = 60.0
SHORT: dict[str, Any] = {"task_settings": {"max_steps": 8}, "device": "cpu"}

pytestmark = pytest.mark.usefixtures("on_rails")


class Running:
    """A run in a thread of its own, whose rounds can be waited for."""

    def __init__(self, settings: DemoSettings) -> None:
        self.run = DemoRun(settings)
        self.rounds = threading.Semaphore(0)
        self.run.parts.rollout.stored.connect(lambda *_: self.rounds.release())
        self.done: Any = None
        self._thread = threading.Thread(target=self._work)

    def start(self) -> Running:
        self._thread.start()
        return self

    def wait(self, rounds: int) -> None:
        for _ in range(rounds):
            assert self.rounds.acquire(timeout=WAIT_S)

    def join(self) -> Any:
        self._thread.join(WAIT_S)
        assert not self._thread.is_alive()
        return self.done

    def _work(self) -> None:
        self.done = self.run.run()


def test_it_waits_steps_and_goes_on() -> None:
    running = Running(DemoSettings(steps=7, **SHORT))
    run = running.run
    assert run.state == "ready"
    run.pause()
    run.step(2)
    running.start()
    running.wait(2)
    assert not running.rounds.acquire(timeout=0.05)
    assert run.state == "paused"
    run.step()
    running.wait(1)
    run.resume()
    done = running.join()
    assert (done.control_steps, done.ended, run.state) == (7, "finished", "ended")


def test_it_stops_also_while_it_waits() -> None:
    running = Running(DemoSettings(steps=1000, **SHORT))
    running.run.pause()
    running.start()
    running.run.stop()
    done = running.join()
    assert (done.control_steps, done.ended) == (0, "stopped")
    assert done.control_steps_per_s is None


def test_a_slow_run_can_be_stopped_at_once() -> None:
    running = Running(DemoSettings(steps=1000, **SHORT))
    running.run.set_speed(1e-4)
    running.start()
    running.wait(1)
    running.run.stop()
    assert running.join().control_steps == 1


def test_a_fault_is_put_in_while_it_runs() -> None:
    running = Running(DemoSettings(steps=12, scene="shared", **SHORT))
    run = running.run
    run.pause()
    run.step(3)
    running.start()
    running.wait(3)
    run.put_fault(parse_order("missed-restore@1:1/5"))
    run.put_fault(parse_order("handle-as-env@0:1/6"))
    for order, why in {
        "incomplete-key@1:1/0": "where a run begins",
        "frame-restamped@1:2/1": "sensors",
        "absent-field@1:2/1": "native fields",
        "reset-row@9:1/1": "no environment 9",
    }.items():
        with pytest.raises(UsageError, match=why):
            run.put_fault(parse_order(order))
    run.resume()
    told = {fault.name: fault.happened for fault in running.join().faults}
    assert told == {"missed-restore": ["1:1/5"], "handle-as-env": ["0:1/6"]}


@pytest.mark.parametrize("wrong", [0, -1.0, float("inf"), float("nan")])
def test_a_speed_that_cannot_be_is_refused(wrong: float) -> None:
    with DemoRun(DemoSettings(**SHORT)) as run:
        with pytest.raises(UsageError, match="speed"):
            run.set_speed(wrong)
        with pytest.raises(UsageError, match="rounds"):
            run.step(0)


@pytest.mark.parametrize("policy", ["random", "smooth"])
@pytest.mark.parametrize("mode", ["next_step", "same_step", "disabled"])
def test_all_kinds_of_scenes_store_the_same(policy: str, mode: Any) -> None:
    stored = []
    for scene in ("shared", "independent", "resident"):
        kept: list[StoredRows] = []
        settings = DemoSettings(
            envs=3, scene=scene, autoreset=mode, policy=policy, steps=20, **SHORT
        )
        with DemoRun(settings) as run:
            run.parts.rollout.stored.connect(
                lambda _, rows, kept=kept: kept.append(rows)
            )
            done = run.run()
        stored.append((kept, done))
    first = stored[0]
    for kept, done in stored[1:]:
        assert (done.episodes, done.solver) == (first[1].episodes, first[1].solver)
        assert done.returns.mean == pytest.approx(first[1].returns.mean, rel=1e-6)
        for mine, theirs in zip(kept, first[0], strict=True):
            rows = theirs.transition
            assert (mine.transition == rows).all()
            for name in ("env", "episode", "control_step", "began", "usable"):
                assert (getattr(mine, name) == getattr(theirs, name)).all(), name
            for name in ("obs", "action", "next_obs", "terminated", "truncated"):
                a, b = getattr(mine, name), getattr(theirs, name)
                assert (a[rows] == b[rows]).all(), name
            if policy == "smooth":
                assert mine.policy_state is not None
                assert theirs.policy_state is not None
                assert (mine.policy_state[rows] == theirs.policy_state[rows]).all()


def test_transitions_follow_each_other() -> None:
    kept: list[StoredRows] = []
    with DemoRun(DemoSettings(envs=3, steps=40, policy="smooth", **SHORT)) as run:
        run.parts.rollout.stored.connect(lambda _, rows: kept.append(rows))
        run.run()
    for before, after in itertools.pairwise(kept):
        assert (after.obs == before.next_obs).all()
        new = after.control_step == 1
        assert not np.asarray(after.policy_state)[new].any()
        assert (
            after.control_step
            == np.where(after.transition, before.control_step % 8 + 1, 0)
        ).all()


def test_a_resident_batch_reads_back_only_what_is_looked_at() -> None:
    def crossings(**others: Any) -> dict[str, int]:
        settings = DemoSettings(
            envs=128, scene="resident", policy="zero", steps=9, **SHORT, **others
        )
        with DemoRun(settings) as run:
            batch: Any = run.parts.envs
            run.parts.rollout.begin()
            batch.scene.crossings.clear()
            for _ in range(9):
                run.parts.rollout.round()
            found: dict[str, int] = {}
            for cause, size in batch.scene.crossings:
                found[cause] = found.get(cause, 0) + size
            rows = run.parts.source.watched.tolist()
        assert rows == list(others.get("watch", ()))
        return found

    unseen = crossings()
    assert "watched" not in unseen
    assert set(unseen) <= {"finite actions"}
    two, four = crossings(watch=(5, 99)), crossings(watch=(1, 5, 7, 99))
    assert four["watched"] == 2 * two["watched"] > 0
