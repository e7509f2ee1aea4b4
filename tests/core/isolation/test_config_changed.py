"""Changes of gravity: by whom, between which steps, and whom they reached."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.core.isolation.worlds import World, found, push_of, reason_not_run

RECORDINGS = Path(__file__).parents[2] / "data" / "recordings"
USUAL = -9.8


def test_the_engine_s_own() -> None:
    path = RECORDINGS / "shared_cartpole_leak_gravity.h5"
    (finding,) = found(path, "config-changed")
    assert finding.severity == "error"
    assert (finding.env, finding.other_env) == (1, 0)
    assert (finding.episode, finding.control_step) == (2, 6)
    assert finding.native == (65, 66)
    assert finding.field == "gravity"
    assert finding.value == [0.0, -3.0, 0.0]
    assert finding.expected == pytest.approx([0.0, -9.8, 0.0])
    (reached,) = finding.affected
    assert (reached.env, reached.episode, reached.control_step) == (0, 2, 4)
    assert reached.native == 68
    assert finding.tainted == ((68, 124),)


class Sharers:
    """Environments that set gravity before, or around, their own control steps.

    Parameters
    ----------
    order
        The turns.
    sets
        (environment, its control step) to the gravity that it sets before it.
    own
        Environment to the gravity that it sets before each of its steps.
    around
        The same, but it puts the usual value back after the step.
    forgets
        (environment, control step) at which it does not do so.
    episode
        Control steps of an episode.
    """

    def __init__(
        self,
        order: list[int],
        sets: dict[tuple[int, int], float] | None = None,
        own: dict[int, float] | None = None,
        around: dict[int, float] | None = None,
        forgets: tuple[tuple[int, int], ...] = (),
        episode: int = 1000,
    ) -> None:
        self.world = World()
        self.first: dict[tuple[int, int], int] = {}
        envs = sorted(set(order))
        count = dict.fromkeys(envs, 0)
        for env in envs:
            self.world.reset(env, 0.3 * env)
        for env in order:
            count[env] += 1
            turn = (env, count[env])
            self._before(turn, sets or {}, own or {}, around or {}, forgets)
            self.first[turn] = len(self.world.rows)
            self.world.step(env, push_of(*turn))
            if env in (around or {}) and turn not in forgets:
                self.world.gravity = USUAL
            if count[env] % episode == 0:
                self.world.reset(env, 0.3 * env + 0.01 * count[env])

    def _before(self, turn: tuple[int, int], sets, own, around, forgets) -> None:
        env = turn[0]
        if turn in sets:
            self.world.gravity = sets[turn]
        if env in own and turn not in forgets:
            self.world.gravity = own[env]
        if env in around:
            self.world.gravity = around[env]

    def told(self) -> list[tuple[int | None, tuple[int, int] | None, list[Any]]]:
        return [
            (f.env, f.native, [(a.env, a.native) for a in f.affected])
            for f in found(self.world, "config-changed")
        ]


ROUNDS = [0, 1, 2, 3] * 14
SHUFFLED = [int(e) for k in range(14) for e in np.random.default_rng(k).permutation(4)]


@pytest.mark.parametrize("order", [ROUNDS, SHUFFLED])
@pytest.mark.parametrize("who", [0, 1, 3])
def test_one_leak_reaches_all_others_from_their_next_step(
    order: list[int], who: int
) -> None:
    run = Sharers(order, {(who, 6): -3.0})
    at = run.first[who, 6]
    later = [(row, env) for (env, _), row in run.first.items() if row > at]
    expected: dict[int, int] = {}
    for row, env in sorted(later):
        if env != who:
            expected.setdefault(env, row)
    assert run.told() == [(who, (at - 1, at), list(expected.items()))]


def test_leaks_by_different_environments_are_told_apart() -> None:
    run = Sharers(ROUNDS, {(1, 5): -3.0, (2, 9): -12.0})
    first, second = run.told()
    assert first[0] == 1
    assert [env for env, _ in first[2]] == [2, 3, 0]
    assert second[0] == 2
    assert [env for env, _ in second[2]] == [3, 0, 1]


@pytest.mark.parametrize("by", [1, 3])
def test_putting_it_back_is_no_second_change(by: int) -> None:
    run = Sharers(ROUNDS, {(1, 5): -3.0, (by, 9): USUAL})
    ((suspect, native, reached),) = run.told()
    assert suspect == 1
    assert native == (run.first[1, 5] - 1, run.first[1, 5])
    assert [env for env, _ in reached] == [2, 3, 0]


def test_the_tainted_steps_end_where_it_was_put_back() -> None:
    run = Sharers(ROUNDS, {(1, 5): -3.0, (1, 9): USUAL})
    (finding,) = found(run.world, "config-changed")
    assert {last for _, last in finding.tainted} == {run.first[1, 9] - 1}


@pytest.mark.parametrize("order", [ROUNDS, SHUFFLED])
@pytest.mark.parametrize("episode", [1000, 5])
def test_each_setting_its_own_before_its_steps_is_no_fault(
    order: list[int], episode: int
) -> None:
    own = {env: USUAL + 0.5 * env for env in range(4)}
    assert Sharers(order, own=own, episode=episode).told() == []


@pytest.mark.parametrize("order", [ROUNDS, SHUFFLED])
def test_one_that_forgets_its_own_steps_under_another_s(order: list[int]) -> None:
    own = {env: USUAL + 0.5 * env for env in range(4)}
    run = Sharers(order, own=own, forgets=((2, 7),))
    ((suspect, _, reached),) = run.told()
    before = order[: [k for k, e in enumerate(order) if e == 2][6]][-1]
    assert suspect == before
    assert reached == [(2, run.first[2, 7])]


@pytest.mark.parametrize("order", [ROUNDS, SHUFFLED])
@pytest.mark.parametrize("around", [{1: -3.0}, {1: -3.0, 2: -3.0}, {0: -3.0, 3: -5.0}])
def test_changing_it_around_one_s_own_step_is_no_fault(
    order: list[int], around: dict[int, float]
) -> None:
    assert Sharers(order, around=around, episode=6).told() == []


def test_forgetting_to_put_it_back_once_is_one_change() -> None:
    run = Sharers(ROUNDS, around={1: -3.0}, forgets=((1, 8),))
    ((suspect, native, reached),) = run.told()
    assert suspect == 1
    assert native == (run.first[1, 8] - 1, run.first[1, 8])
    assert reached == [
        (2, run.first[2, 8]),
        (3, run.first[3, 8]),
        (0, run.first[0, 9]),
    ]


def test_one_that_never_sets_it_is_reached_by_everybody_else_s() -> None:
    run = Sharers([0, 1] * 12, own={1: -3.0})
    told = run.told()
    assert told[0][0] == 1
    assert told[0][2] == [(0, run.first[0, 2])]


def test_the_last_turn_of_a_recording_leaves_open_whom_it_reaches() -> None:
    run = Sharers(ROUNDS, {(3, 14): -3.0})
    (finding,) = found(run.world, "config-changed")
    assert finding.env == 3
    assert finding.affected == ()
    assert finding.confidence == 0.5
    assert "ends before another environment" in finding.message


def test_many_alike_are_told_once_and_counted() -> None:
    sets = {(1, k): (-3.0 if k % 2 else USUAL) for k in range(1, 30)}
    run = Sharers([0, 1, 2] * 30, sets)
    told = found(run.world, "config-changed")
    assert len(told) == 8
    assert told[-1].evidence["more_like_it"] == 7


def test_a_scene_of_its_own_may_change_it() -> None:
    world = World()
    world.reset(0)
    for k in range(12):
        world.gravity = -3.0 if k > 5 else USUAL
        world.step(0, push_of(0, k))
    assert found(world, "config-changed") == []


def test_without_gravity_it_can_not_run() -> None:
    recording = Sharers(ROUNDS).world.recording()
    recording.steps.gravity[:] = np.nan
    assert reason_not_run(recording, "config-changed") == "no step tells gravity"
