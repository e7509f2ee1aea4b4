"""Departures from an independent twin."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.core.isolation.worlds import (
    World,
    findings,
    found,
    push_of,
    reason_not_run,
)

RECORDINGS = Path(__file__).parents[2] / "data" / "recordings"
TWIN = RECORDINGS / "independent_cartpole_env0.h5"


def test_the_engine_s_own() -> None:
    path = RECORDINGS / "shared_cartpole_leak_inertia.h5"
    (finding,) = findings(path, TWIN)
    assert finding.id == "hidden-leak"
    assert finding.severity == "error"
    assert (finding.env, finding.episode, finding.control_step) == (0, 2, 4)
    assert finding.other_env == 1
    assert finding.evidence["equal_steps_before"] == 34
    assert finding.evidence["stepped_between"] == [1]
    assert finding.confidence == 1
    assert np.max(np.abs(np.array(finding.value) - finding.expected)) == pytest.approx(
        finding.evidence["size"]
    )


@pytest.mark.parametrize(
    "name",
    [
        "shared_cartpole_2env",
        "shared_cartpole_short_episodes",
        "independent_cartpole_env0",
        "shared_cartpole_midstart",
    ],
)
def test_what_is_clean_does_not_depart(name: str) -> None:
    assert findings(RECORDINGS / f"{name}.h5", TWIN) == []


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("shared_cartpole_missed_restore", "missed-restore"),
        ("shared_cartpole_leak_gravity", "config-changed"),
    ],
)
def test_what_the_file_shows_itself_is_told_once(name: str, shown: str) -> None:
    assert [f.id for f in findings(RECORDINGS / f"{name}.h5", TWIN)] == [shown]


def _run(
    envs: list[int],
    leak: tuple[int, int] | None = None,
    control_steps: int = 12,
    episode: int = 100,
    seed: float = 0.0,
    actions: float = 0.0,
) -> World:
    """Environments by their own numbers; `leak` is (environment, control step)."""
    world = World()
    for env in envs:
        world.reset(env, 0.3 * env + seed)
    for k in range(1, control_steps + 1):
        for env in envs:
            if (env, k) == leak:
                world.drag = 5.0
            world.step(env, push_of(env, k) + actions)
            if k % episode == 0:
                world.reset(env, 0.3 * env + seed + 0.01 * k)
    return world


@pytest.mark.parametrize("twin", [0, 1, 2])
def test_a_twin_of_any_environment(twin: int) -> None:
    (finding,) = found(_run([0, 1, 2], leak=(1, 5)), "hidden-leak", _run([twin]))
    assert finding.env == twin
    assert finding.control_step == (5 if twin >= 1 else 6)


def test_a_leak_in_a_later_episode() -> None:
    world = _run([0, 1, 2], leak=(1, 10), episode=4)
    (finding,) = found(world, "hidden-leak", _run([2], episode=4))
    assert (finding.env, finding.episode, finding.control_step) == (2, 3, 2)


def test_a_missed_restore_does_not_hide_a_leak_in_a_later_episode() -> None:
    world = World()
    for env in range(2):
        world.reset(env, 0.3 * env)
    for k in range(1, 13):
        for env in range(2):
            if (env, k) == (0, 10):
                world.drag = 5.0
            world.step(env, push_of(env, k), restore=(env, k) != (1, 3))
            if k % 4 == 0:
                world.reset(env, 0.3 * env + 0.01 * k)
    seen = findings(world, _run([1], episode=4))
    assert [(f.id, f.env, f.episode, f.control_step) for f in seen] == [
        ("missed-restore", 1, 1, 3),
        ("hidden-leak", 1, 3, 2),
    ]


def test_a_reference_that_is_shared_itself_is_told_as_such() -> None:
    reference = _run([0, 1, 2])
    seen = found(_run([0, 1, 2], leak=(1, 5)), "hidden-leak", reference)
    assert {(f.env, f.control_step) for f in seen} == {(0, 6), (1, 5), (2, 5)}
    assert {f.confidence for f in seen} == {0.5}
    assert all("shared itself" in f.message for f in seen)


def test_environments_under_other_numbers_are_found() -> None:
    reference = _run([2, 0])
    seen = found(_run([0, 1, 2], leak=(1, 5)), "hidden-leak", reference)
    assert {(f.env, f.evidence["reference_env"]) for f in seen} == {(0, 1), (2, 0)}


def test_parting_with_the_first_action_is_doubtful() -> None:
    (finding,) = found(_run([0, 1]), "hidden-leak", _run([0], actions=0.5))
    assert finding.control_step == 1
    assert finding.confidence == 0.5
    assert "other actions" in finding.message


def test_another_seed_is_nobody_s_twin() -> None:
    reason = reason_not_run(_run([0, 1]), "hidden-leak", _run([0], seed=0.07))
    assert reason is not None
    assert reason.startswith("no environment begins an episode like one of")


def test_without_a_reference_it_can_not_run() -> None:
    assert (
        reason_not_run(_run([0, 1]), "hidden-leak") == "a bare recording can't show it"
    )


def test_another_precision_is_nobody_s_twin() -> None:
    path = RECORDINGS / "fp64_shared_cartpole_2env.h5"
    reason = reason_not_run(path, "hidden-leak", TWIN)
    assert reason is not None
    assert reason.endswith("is float32 and this recording float64")


def test_another_scene_is_nobody_s_twin() -> None:
    reason = reason_not_run(RECORDINGS / "soft_body.h5", "hidden-leak", TWIN)
    assert reason is not None
    assert reason.startswith("it has no state in common")


def test_gravity_that_is_other_from_the_beginning_shows_in_the_twin_only() -> None:
    world = _run([0, 1])
    twin = World(gravity=-3.0)
    twin.reset(0)
    for k in range(1, 13):
        twin.step(0, push_of(0, k))
    recording = twin.recording()
    reset = world.recording().actors[0].fields.tracks["translationCom"].values[0]
    recording.actors[0].fields.tracks["translationCom"].values[0] = reset
    (finding,) = found(world, "hidden-leak", recording)
    assert finding.field == "gravity"


def test_bare_steps_between_the_turns_are_no_departure() -> None:
    world = World()
    for env in range(3):
        world.reset(env, 0.3 * env)
    for k in range(1, 13):
        for env in range(3):
            if (env, k) == (1, 6):
                world.native(0.02, 0.5)
            world.step(env, push_of(env, k))
    assert found(world, "free-scene")
    for twin in range(3):
        assert found(world, "hidden-leak", _run([twin])) == []


def test_equal_starts_are_told_apart_by_what_follows() -> None:
    def run(envs: list[int], leak: int | None = None) -> World:
        world = World()
        for env in envs:
            world.reset(env)
        for k in range(1, 13):
            for env in envs:
                if k == leak and env == 1:
                    world.drag = 5.0
                world.step(env, push_of(env, k))
        return world

    assert found(run([0, 1, 2]), "hidden-leak", run([1])) == []
    (finding,) = found(run([0, 1, 2], leak=6), "hidden-leak", run([1]))
    assert (finding.env, finding.control_step) == (1, 6)
