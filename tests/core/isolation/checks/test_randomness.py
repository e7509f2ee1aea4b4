"""Checks about seeds, generators, starts and task state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isoscope.core.isolation.tainting import tainted
from tests.core.isolation.building import Run

if TYPE_CHECKING:
    from pathlib import Path


def _state(seed: Any) -> Any:
    state: Any = np.random.PCG64(np.random.SeedSequence(seed)).state
    inner = {name: str(value) for name, value in state["state"].items()}
    return {**state, "state": inner}


def _ids(run: Run) -> list[str]:
    return [f.id for f in run.findings()]


# -- duplicate-seeds, same-seed-every-reset --------------------------------------------


@pytest.mark.parametrize(("processes", "per"), [(2, 2), (3, 2), (2, 4)])
def test_seeds_that_were_expanded_twice(
    tmp_path: Path, processes: int, per: int
) -> None:
    envs = processes * per
    run = Run(tmp_path, envs, processes=processes, environments_per_process=per)
    for env in range(envs):
        run.reset(env, seed=100 + env // per + env % per)
    found = run.steps(2).only("duplicate-seeds")
    assert found.evidence["distinct"] == processes + per - 1
    assert found.evidence["double_expansion"]
    assert (found.env, found.other_env) == (per, 1)
    assert f"{processes}+{per}-1" in found.message


def test_a_seed_that_another_had(tmp_path: Path) -> None:
    run = Run(tmp_path, 3)
    for env in range(3):
        run.reset(env, seed=100 + env)
    run.steps(3)
    run.reset(2, seed=101)
    found = run.steps(2).only("duplicate-seeds")
    assert (found.env, found.other_env) == (2, 1)
    assert (found.episode, found.control_step) == (2, 0)
    assert found.value == 101


def test_seeds_of_the_identity_count_too(tmp_path: Path) -> None:
    run = Run(tmp_path, 3, seeds=[5, 6, 5]).resets()
    found = run.steps(2).only("duplicate-seeds")
    assert (found.env, found.other_env) == (2, 0)


def test_the_same_seed_at_every_reset(tmp_path: Path) -> None:
    run = Run(tmp_path, 2)
    for _ in range(3):
        run.reset(0, seed=7)
        run.reset(1, seed=8 if run.episode[1] == 0 else None)
        run.steps(2)
    found = run.only("same-seed-every-reset")
    assert (found.env, found.episode) == (0, 2)
    assert found.evidence["resets"] == 3


def test_seeds_of_their_own_given_once(tmp_path: Path) -> None:
    run = Run(tmp_path, 4, seeds=[100, 101, 102, 103])
    for env in range(4):
        run.reset(env, seed=100 + env)
    run.steps(3)
    for env in range(4):
        run.reset(env)
    audit = run.steps(2).audit()
    assert audit.findings == []
    assert "duplicate-seeds" not in {one.id for one in audit.not_run}


def test_seeds_that_nobody_saw_given(tmp_path: Path) -> None:
    run = Run(tmp_path, 3).resets().steps(2)
    run.reset(2, rng_digest=b"as 1 in its 1st.")
    run.reset(1, rng_digest=b"as 1 in its 1st.")
    found = run.steps(2).only("duplicate-seeds")
    assert (found.env, found.other_env) == (1, 2)
    assert (found.episode, found.control_step) == (2, 0)


def test_a_generator_that_begins_anew_with_each_reset(tmp_path: Path) -> None:
    run = Run(tmp_path, 2)
    for _ in range(3):
        run.reset(0, rng="always")
        run.reset(1)
        for _ in range(2):
            run.step(0, rng="always")
            run.step(1)
    found = run.only("same-seed-every-reset")
    assert (found.env, found.episode, found.control_step) == (0, 2, 0)


def test_generators_that_nobody_draws_from(tmp_path: Path) -> None:
    run = Run(tmp_path, 2)
    for _ in range(3):
        for env in range(2):
            run.reset(env, rng=f"{env}")
            run.step(env, rng=f"{env}")
    assert run.findings() == []


# -- identical-start -------------------------------------------------------------------


@pytest.mark.parametrize("digests", [True, False])
def test_environments_that_begin_alike(tmp_path: Path, digests: bool) -> None:
    run = Run(tmp_path, 3, digests=digests)
    for env, at in enumerate((0.5, 0.25, 0.5)):
        run.reset(env, at=at)
    found = run.steps(3).only("identical-start")
    assert (found.env, found.other_env) == (2, 0)  # which began second
    assert found.native == (0, 2)


def test_a_start_that_was_set_after_the_reset_s_own_step(tmp_path: Path) -> None:
    run = Run(tmp_path, 3).resets()
    run.own[2] = run.own[0]
    run.steps(3)
    assert "identical-start" in _ids(run)
    found = next(f for f in run.findings() if f.id == "identical-start")
    assert (found.env, found.other_env) == (2, 0)  # which began second


def test_a_reset_that_gives_another_s_observation(tmp_path: Path) -> None:
    run = Run(tmp_path, 3, digests=False, states=False).resets()
    run.steps(2)
    run.reset(1)
    run.reset(2, observation=run.seen[1])
    found = [f for f in run.steps(1).findings() if f.id == "identical-start"]
    assert [(f.env, f.other_env) for f in found] == [(2, 1)]


@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize("scenes", [[0, 0, 0], [0, 1, 2]])
def test_a_start_in_another_s_place_with_a_target_of_its_own(
    tmp_path: Path, scenes: list[int], alike: bool
) -> None:
    run = Run(tmp_path, 3, scenes=scenes)
    run.targets = {0: 0.5, 1: 1.5, 2: 2.5}
    run.resets()
    seen = [run.seen[0][:2], run.seen[0][3:]]
    place = run.own[0][0] if alike else 0.9
    # What a snapshot holds of the last step is not the same in both.
    run.own[2] = (place, run.own[0][1], 0.25)
    told = np.concatenate([seen[0], [np.float32(2.5)], seen[1]])
    run.transition(2, run.rows - 1, run.rows - 1, observation=told)
    found = [f for f in run.steps(4).findings() if f.id == "identical-start"]
    assert [(f.env, f.other_env) for f in found] == ([(2, 0)] if alike else [])


# -- shared-task-state -----------------------------------------------------------------


def test_a_generator_that_two_draw_from(tmp_path: Path) -> None:
    run = Run(tmp_path, 3)
    for env in range(3):
        run.reset(env, seed=100 + env)
    for k in range(4):
        run.step(0, rng=f"mine {k}")
        run.step(1, rng=f"shared {k}")
        run.step(2, rng=f"shared {k}")
    found = run.only("shared-task-state")
    assert (found.env, found.other_env) == (1, 2)
    assert (found.episode, found.control_step) == (1, 1)
    np.testing.assert_array_equal(
        tainted(run.examine(), [found]).transitions[3:],
        [env in (1, 2) for _ in range(4) for env in range(3)],
    )


def test_the_same_digests_of_the_same_seed_are_another_finding(tmp_path: Path) -> None:
    run = Run(tmp_path, 2)
    for env in range(2):
        run.reset(env, seed=100)
    for k in range(3):
        for env in range(2):
            run.step(env, rng=f"both {k}")
    assert _ids(run) == ["duplicate-seeds"]


def test_one_stream_in_two_environments(tmp_path: Path) -> None:
    run = Run(tmp_path, 3)
    for env, seed in enumerate((1, 2, 1)):
        run.reset(env, states={"env": _state(seed)})
    found = run.steps(2).only("shared-task-state")
    assert (found.env, found.other_env, found.episode) == (2, 0, 1)


def test_a_count_that_jumps_to_another_s(tmp_path: Path) -> None:
    run = Run(tmp_path, 2, info=("elapsed",)).resets()
    count = [0, 40]
    for k in range(8):
        for env in range(2):
            count[env] = count[1] + 1 if (env, k) == (0, 4) else count[env] + 1
            run.step(env, values={"elapsed": float(count[env])})
    found = run.only("shared-task-state")
    assert (found.env, found.other_env) == (0, 1)
    assert found.control_step == 5
    assert (found.field, found.value, found.expected) == ("info.elapsed", 45.0, 5.0)


def test_a_count_that_all_have_in_common(tmp_path: Path) -> None:
    run = Run(tmp_path, 3, info=("elapsed",)).resets()
    count = 0
    for k in range(5):
        for env in range(3):
            if (env, k) == (1, 2):
                run.reset(1)
            count += 1
            run.step(env, values={"elapsed": float(count)})
    found = run.findings()
    assert {f.id for f in found} == {"shared-task-state"}
    assert found[0].field == "info.elapsed"


def test_counts_of_their_own(tmp_path: Path) -> None:
    run = Run(tmp_path, 3, info=("elapsed", "noise")).resets()
    for k in range(9):
        for env in range(3):
            if k % (3 + env) == 2:
                run.reset(env)
            run.step(
                env,
                values={
                    "elapsed": float(run.k[env] + 1),
                    "noise": float(np.sin(10 * k + env)),
                },
            )
    assert run.findings() == []


# -- unseeded-action-space -------------------------------------------------------------


def _sampled(run: Run, env: int, k: int) -> None:
    digest = f"{env} samples {k}".encode().ljust(16)[:16]
    run.step(env, action_rng_digest=digest)


@pytest.mark.parametrize("told", [True, False])
def test_an_action_space_that_nobody_seeded(tmp_path: Path, told: bool) -> None:
    extra: dict[str, Any] = {"cores": 4}
    if told:
        extra["action_space_seeds"] = [None, 3]
    run = Run(tmp_path, 2, extra=extra)
    run.reset(0, seed=1)
    run.reset(1, seed=2)
    for k in range(3):
        _sampled(run, 0, k)
        run.step(1)
    run.reset(0, states={"action_space": _state([7, 2**70])})
    found = run.steps(2).only("unseeded-action-space")
    assert (found.env, found.episode, found.control_step) == (0, 1, 1)
    assert (found.confidence == 1.0) == told


@pytest.mark.parametrize("seed", [1, 33])
def test_an_action_space_with_a_seed(tmp_path: Path, seed: int) -> None:
    run = Run(tmp_path, 2)
    run.reset(0, seed=1)
    run.reset(1, seed=2)
    for k in range(3):
        _sampled(run, 0, k)
        run.step(1)
    run.reset(0, states={"action_space": _state(seed)})
    audit = run.steps(2).audit()
    assert audit.findings == []
    assert "unseeded-action-space" not in {one.id for one in audit.not_run}
