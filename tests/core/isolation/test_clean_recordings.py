"""Recordings with nothing wrong have no finding at all, whatever their kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.isolation.worlds import World, findings, push_of, shared

RECORDINGS = Path(__file__).parents[2] / "data" / "recordings"
CLEAN = (
    "shared_cartpole_2env",
    "fp64_shared_cartpole_2env",
    "shared_cartpole_short_episodes",
    "shared_cartpole_midstart",
    "independent_cartpole_env0",
    "rigid_contacts_all",
    "fp64_rigid_contacts_all",
    "create_destroy",
    "soft_body",
    "no_state",
    "shared_cartpole_leak_inertia",  # which shows only against a twin
)


@pytest.mark.parametrize("name", CLEAN)
def test_the_engine_s_clean_recordings(name: str) -> None:
    assert findings(RECORDINGS / f"{name}.h5") == []


def test_a_long_run(cartpole_20k: Path) -> None:
    assert findings(cartpole_20k) == []


@pytest.mark.parametrize("substeps", [1, 2, 4])
@pytest.mark.parametrize("envs", [2, 5])
def test_turns_of_any_number_of_substeps(envs: int, substeps: int) -> None:
    world = World()
    for env in range(envs):
        world.reset(env, 0.2 * env)
    for k in range(15):
        for env in range(envs):
            world.step(env, push_of(env, k), substeps)
    assert findings(world) == []


def test_short_episodes() -> None:
    assert findings(shared(4, 30, episode=7)) == []


def test_a_recording_without_a_step() -> None:
    assert findings(World()) == []
