"""Scenes by key: shares, cleanups, threads, and what is told about them."""

from __future__ import annotations

import dataclasses
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoscope.core.envs.errors import (
    CleanupError,
    SceneClosedError,
    SceneThreadError,
    SharedConfigurationError,
)
from isoscope.core.envs.events import scene_events
from isoscope.core.envs.making import SceneWish
from isoscope.core.envs.manager import context
from isoscope.core.envs.randomisation.distributions import Uniform
from isoscope.core.envs.randomisation.persistent import PersistentDraw, PersistentPlan
from isoscope.core.envs.scene_env import SceneEnv
from isoscope.core.envs.scene_key import fingerprint
from isoscope.core.envs.stages import Stages, WrappedStages
from isoscope.core.envs.tasks.registry import make_task
from tests.core.envs.making import batch, env, rails

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.envs.scene_handle import SceneHandle
    from isoscope.core.envs.scene_key import SceneKey

ACTION = np.zeros(1, np.float32)


@pytest.fixture
def events() -> Iterator[list[Any]]:
    found: list[Any] = []
    scene_events.happened.connect(found.append)
    yield found
    scene_events.happened.disconnect(found.append)


def test_environments_that_want_the_same_share_a_scene() -> None:
    one, other, alone = env(), env(env_id=1), env(scene="independent")
    assert one.scene is other.scene
    assert alone.scene is not one.scene
    assert len(context.scenes) == 2


@pytest.mark.parametrize("wish", [{"gravity": False}, {"damping": False}])
def test_and_those_that_want_another_configuration_do_not(wish: dict[str, Any]) -> None:
    one, other = env(), env(**wish)
    assert one.scene is not other.scene


def test_the_fingerprint_parts_them_even_where_the_tasks_key_forgets() -> None:
    class Forgetful(WrappedStages):
        def key(self, key: SceneKey) -> SceneKey:
            return dataclasses.replace(key, task="CartPole")

    one = env(stages=Forgetful(Stages()))
    other = env(stages=Forgetful(Stages()), gravity=False)
    assert one.scene is not other.scene
    assert rails(other).persistent_configuration()["gravity"].tolist() == [0, 0, 0]
    assert rails(one).persistent_configuration()["gravity"][1] == -9.8


@given(st.dictionaries(st.sampled_from("abcd"), st.floats(allow_nan=False)))
@settings(max_examples=30, deadline=None)
def test_a_fingerprint_has_no_order_and_every_value(wanted: dict[str, float]) -> None:
    same = dict(reversed(list(wanted.items())))
    texts = {"model": "m"}
    assert fingerprint(wanted, texts) == fingerprint(same, texts)
    assert fingerprint(wanted, texts) != fingerprint(wanted, {"model": "n"})
    for name, value in wanted.items():
        other = wanted | {name: 1.0 if value != 1.0 else 2.0}
        assert fingerprint(wanted, texts) != fingerprint(other, texts)


def test_the_creator_may_close_first_and_the_last_one_closes_the_scene() -> None:
    creator, other = env(), env(env_id=1)
    scene = rails(creator)
    creator.reset(seed=1)
    other.reset(seed=2)
    creator.close()
    creator.close()
    assert not scene.closed
    assert other.step(ACTION)[4]["valid"]
    other.close()
    assert scene.closed
    assert context.scenes == ()
    assert scene.snapshots == 1  # only the initial state, which goes with the scene


def test_a_closed_environment_says_so() -> None:
    one, _other = env(), env(env_id=1)
    one.reset(seed=1)
    one.close()
    with pytest.raises(SceneClosedError, match="closed"):
        one.step(ACTION)
    with pytest.raises(SceneClosedError, match="closed"):
        one.reset()


class Cleaning(WrappedStages):
    def __init__(self, log: list[str], failing: set[str]) -> None:
        super().__init__(Stages())
        self.log, self.failing = log, failing

    def cleanups(self, handle: SceneHandle) -> None:
        for name in ("first", "second", "third"):
            handle.add_cleanup(name, lambda name=name: self._run(name))  # type: ignore[misc]

    def _run(self, name: str) -> None:
        if name in self.failing:
            raise RuntimeError(f"{name} is stuck")
        self.log.append(name)


def test_cleanups_run_in_reverse() -> None:
    log: list[str] = []
    one = env(stages=Cleaning(log, set()))
    one.close()
    assert log == ["third", "second", "first"]


def test_a_failing_cleanup_keeps_the_scene_and_says_so(events: list[Any]) -> None:
    log: list[str] = []
    failing = {"second"}
    one = env(stages=Cleaning(log, failing))
    scene = rails(one)
    with pytest.raises(CleanupError, match=r"second failed.*second is stuck.*kept"):
        one.close()
    assert not scene.closed
    assert len(context.scenes) == 1
    failure = next(e for e in events if e.kind == "failure")
    assert failure.detail == {"doing": "cleanup second", "problem": "second is stuck"}
    # it lives on, and can be used
    again = env(env_id=1)
    assert again.scene is scene
    again.reset(seed=1)
    failing.clear()
    again.close()
    assert scene.closed
    assert log == ["third", "second", "first"]


def test_a_cleanup_can_be_tried_again_by_closing_again() -> None:
    failing = {"first"}
    one = env(stages=Cleaning([], failing))
    scene = rails(one)
    with pytest.raises(CleanupError):
        one.close()
    failing.clear()
    one.close()
    assert scene.closed


def test_visual_handles_go_with_their_environment() -> None:
    one, other = env(), env(env_id=1)
    gone: list[str] = []
    one.lease.add_visual("ghost", lambda: gone.append("ghost"))
    other.lease.add_visual("trail", lambda: gone.append("trail"))
    one.close()
    assert gone == ["ghost"]
    other.close()
    assert gone == ["ghost", "trail"]


def test_a_visual_handle_that_sticks_is_told_and_the_share_is_let_go() -> None:
    one = env()
    scene = rails(one)

    def stuck() -> None:
        raise RuntimeError("no canvas")

    one.lease.add_visual("ghost", stuck)
    with pytest.raises(CleanupError, match=r"ghost \(no canvas\)"):
        one.close()
    assert scene.closed


def in_a_thread(call: Any) -> BaseException | None:
    caught: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - handed to the test
            caught.append(error)

    thread = threading.Thread(target=run, name="second")
    thread.start()
    thread.join()
    return caught[0] if caught else None


def test_a_second_thread_is_refused_and_told(events: list[Any]) -> None:
    one, other = env(), env(env_id=1)
    one.reset(seed=1)
    state = one.capture()
    for call in (
        lambda: one.step(ACTION),
        lambda: other.reset(seed=2),
        lambda: one.read(0, "translation"),
        one.close,
        lambda: env(env_id=2),
    ):
        error = in_a_thread(call)
        assert isinstance(error, SceneThreadError), error
        assert "thread second" in str(error)
    assert [e.env for e in events if e.kind == "thread"] == [0, 1, 0, 0, 2]
    assert one.capture() == state
    one.step(ACTION)


def test_made_here_and_used_there_is_fine() -> None:
    one = env()
    assert in_a_thread(lambda: (one.reset(seed=1), one.step(ACTION))) is None


def test_what_a_thread_left_behind_can_be_closed() -> None:
    made: list[Any] = []

    def work() -> None:
        made.append(env())
        made[0].reset(seed=1)
        made[0].step(ACTION)

    assert in_a_thread(work) is None
    one = made[0]
    with pytest.raises(SceneThreadError, match="thread second"):
        one.step(ACTION)
    one.close()
    assert rails(one).closed
    assert context.scenes == ()


def test_everything_that_happens_to_a_scene_is_told(events: list[Any]) -> None:
    one, other = env(), env(env_id=1)
    one.reset(seed=1)
    other.reset(seed=2)
    one.step(ACTION)
    one.close()
    other.close()
    told = [(e.kind, e.env) for e in events]
    assert told == [
        ("create", 0),
        ("acquire", 0),
        ("acquire", 1),
        ("restore", 0),
        ("capture", 0),
        ("restore", 1),
        ("capture", 1),
        ("restore", 0),
        ("capture", 0),
        ("release", 0),
        ("release", 1),
        ("close", -1),
    ]
    assert len({e.scene for e in events}) == 1
    assert all(e.thread == threading.get_ident() for e in events)


def heavier(shared: Any) -> PersistentPlan:
    draw = PersistentDraw(
        name="m", entry="mass", distribution=Uniform(unit="1", low=0.5, high=2.0)
    )
    return PersistentPlan(draws=(draw,), in_shared_scenes=shared)


def test_failures_are_told_where_they_happen(events: list[Any]) -> None:
    class Broken(WrappedStages):
        def observe(self, lanes: Any) -> Any:
            raise ValueError("no eyes")

    def nowhere(*args: Any) -> Any:
        raise RuntimeError("no device")

    one = env(stages=Broken(Stages()), env_id=3)
    with pytest.raises(ValueError, match="no eyes"):
        one.reset(seed=1)
    with pytest.raises(RuntimeError, match="no device"):
        SceneEnv(make_task("CartPoleLab"), SceneWish(nowhere), env_id=4)
    told = [(e.env, dict(e.detail)) for e in events if e.kind == "failure"]
    assert told == [
        (3, {"doing": "reset", "problem": "no eyes"}),
        (4, {"doing": "making a scene", "problem": "no device"}),
    ]
    one.close()


def test_a_persistent_change_in_a_shared_scene_is_refused() -> None:
    with pytest.raises(SharedConfigurationError, match=r"mass.*shared"):
        env(persistent=heavier("refuse"))
    assert context.scenes == ()
    env(scene="independent", persistent=heavier("refuse")).reset(seed=1)
    batch(persistent=heavier("refuse")).reset(seed=1)


def test_what_is_reapplied_never_meets_those_who_do_not_reapply() -> None:
    plain, moved = env(), env(env_id=1, persistent=heavier("reapply"))
    also = env(env_id=2, persistent=heavier("reapply"))
    assert plain.scene is not moved.scene
    assert moved.scene is also.scene
    moved.reset(seed=1)
    also.reset(seed=2)
    mine = moved.lanes.draws.values["m"][0]
    moved.step(ACTION)
    masses = rails(moved).persistent_configuration()["mass"]
    assert np.array_equal(masses, np.full((1, 2), mine))


def test_reading_ones_own_state_leaves_the_scene_as_it_was() -> None:
    one, other = env(), env(env_id=1)
    one.reset(seed=1)
    other.reset(seed=2)
    place = one.read(0, "translation")
    assert other.resident
    assert not one.resident
    assert place[0] == pytest.approx(one.lanes.observation[0, 2], abs=1e-7)
    twin = env(scene="independent")
    twin.reset(seed=2)
    for _ in range(3):
        one.read(0, "translation")
        assert np.array_equal(other.step(ACTION)[0], twin.step(ACTION)[0])
