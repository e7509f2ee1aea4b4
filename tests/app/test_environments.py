"""The environments that ship: registered, picklable, alike in every kind of scene."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import SyncVectorEnv

from isoscope.app.environments import (
    NAMES,
    EnvFactory,
    make_batch,
    make_env,
    register_all,
)
from isoscope.core.envs.errors import TaskError
from isoscope.core.envs.lane_options import LaneOptions
from isoscope.core.envs.tasks.registry import TASKS
from isoscope.core.envs.vector.factories import IndexedFactory
from isoscope.core.envs.vector.hybrid import HybridVectorEnv
from isoscope.core.errors import UsageError
from tests.core.envs.test_three_kinds import DISTURBED, PLAN, assert_same

FAST = {"integrator": "semi_implicit"}
BOTH = LaneOptions(persistent=PLAN, disturbances=DISTURBED, ahead=3)


@pytest.fixture(autouse=True)
def registered() -> None:
    torch.set_num_threads(1)
    register_all()
    register_all()


def test_all_tasks_are_registered() -> None:
    assert set(NAMES) == set(TASKS)


def test_importing_the_module_registers_and_brings_no_torch() -> None:
    code = (
        "import sys, isoscope.app.environments, gymnasium;"
        "print('torch' in sys.modules, 'isoscope/Pusher-v0' in gymnasium.registry)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True"]


@pytest.mark.parametrize("name", NAMES)
def test_gymnasium_finds_nothing_wrong(name: str) -> None:
    with warnings.catch_warnings():
        # advice on bounds; these are SuperDex Lab's: observations have none, actions ±3
        warnings.filterwarnings("ignore", message=".*(normalized space|infinity).*")
        one = gym.make(f"isoscope/{name}-v0", **FAST)
        check_env(one.unwrapped, skip_render_check=True)
    one.close()


def test_settings_of_the_task_go_through_gymnasium() -> None:
    one = gym.make("isoscope/CartPole-v0", max_steps=2, scene="independent", **FAST)
    one.reset(seed=1)
    zero = np.zeros(1, np.float32)
    assert [one.step(zero)[3] for _ in range(2)] == [False, True]
    one.close()
    with pytest.raises(TaskError, match="no setting colour"):
        make_env("CartPole", colour="red")
    with pytest.raises(UsageError, match="resident"):
        make_batch("CartPole", 2, scene="shared")


def test_a_batch_comes_from_make_vec() -> None:
    many = gym.make_vec("isoscope/CartPole-v0", num_envs=3, **FAST)
    observation, _ = many.reset(seed=1)
    one = gym.make("isoscope/CartPole-v0", **FAST)
    assert np.array_equal(one.reset(seed=2)[0], observation[1])
    one.close()
    many.close()


def test_the_modules_name_in_front_imports_it_and_render_modes_go_through() -> None:
    one = gym.make(
        "isoscope.app.environments:isoscope/CartPole-v0", render_mode="ansi", **FAST
    )
    one.reset(seed=1)
    assert "CartPole" in str(one.render())
    one.close()


def test_a_configuration_of_ones_own_is_part_of_the_scenes_key() -> None:
    plain = EnvFactory("CartPole", **FAST)()
    mild = EnvFactory("CartPole", configuration={"gravity": (0.0, -1.6, 0.0)}, **FAST)
    one, other = mild(1), mild(2)
    assert one.scene is other.scene is not plain.scene
    assert one.scene.persistent_configuration()["gravity"].tolist() == [0, -1.6, 0]
    for made in (plain, one, other):
        made.close()


def test_a_factory_can_be_sent_to_a_worker() -> None:
    make = EnvFactory("Pusher", {"max_steps": 5}, options=BOTH, **FAST)
    assert pickle.loads(pickle.dumps(make)) == make


TRUTH = (
    Path(__file__).parents[1] / "data/recordings/independent_cartpole_env0.truth.json"
)


def test_the_cartpole_is_like_the_real_engines() -> None:
    """From the first observation of the recorded episode, with its actions."""
    rows = json.loads(TRUTH.read_text("utf-8"))["transitions"]
    rows = [row for row in rows if row["episode"] == 1]
    one = EnvFactory("CartPole", scene="independent")()
    one.reset(seed=0)
    omega, speed, place, angle = rows[0]["obs"]
    scene = one.scene
    scene.set_state(
        0,
        scene.to_device(np.array([[place, angle]]), "test"),
        scene.to_device(np.array([[speed, omega]]), "test"),
    )
    for row in rows:
        observation, reward, *ends, _ = one.step(np.array(row["action"], np.float32))
        assert np.abs(observation - np.array(row["next_obs"])).max() <= 5e-3
        assert [reward, *ends] == [row["reward"], row["terminated"], row["truncated"]]
    one.close()


def test_and_in_worker_processes() -> None:
    make = EnvFactory("CartPole", {"max_steps": 4}, options=BOTH, **FAST)
    spread = HybridVectorEnv(
        [IndexedFactory(make.at)] * 4, workers=2, threads_per_worker=1
    )
    resident = make.batch(4)
    assert_same([trace(vector, 10) for vector in (spread, resident)])
    assert spread.call("env_id") == (0, 1, 2, 3)
    spread.close()
    resident.close()


def test_contact_by_backward_euler_is_the_same_however_many_workers() -> None:
    """A free box lies and is pushed; quaternions, friction and Newton's method."""
    make = EnvFactory(
        "Pusher", {"max_steps": 2, "simulation_hz": 50}, integrator="backward_euler"
    )
    resident = make.batch(4)
    kinds: list[tuple[Any, dict[str, Any]]] = [
        ("shared", {"workers": 0}),
        ("independent", {"workers": 0}),
        ("shared", {"workers": 2, "threads_per_worker": 1}),
    ]
    vectors: list[Any] = [resident]
    for scene, arguments in kinds:
        factory = IndexedFactory(replace(make, scene=scene).at)
        vectors.append(HybridVectorEnv([factory] * 4, **arguments))
    assert_same([trace(vector, 3) for vector in vectors])
    box = next(row.index for row in resident.scene.rows if row.name == "Box")
    assert resident.scene.read(box, "contacts_active").any(1).all()
    for vector in vectors:
        vector.close()


def trace(vector: Any, steps: int) -> list[Any]:
    rng = np.random.default_rng(0)
    seen = [vector.reset(seed=9)[0].copy()]
    for _ in range(steps):
        action = rng.uniform(-1, 1, vector.action_space.shape).astype(np.float32)
        *rows, info = vector.step(action)
        seen += [row.copy() for row in rows] + [info["valid"].copy()]
    return seen


CASES = [
    ("CartPole", {"max_steps": 5}, None),
    ("CartPole", {"max_steps": 5}, BOTH),
    ("DoublePendulumRail", {"max_steps": 5}, None),
    ("FallingBodies", {"max_steps": 3, "simulation_hz": 100}, None),
    ("Pusher", {"max_steps": 3, "simulation_hz": 100}, None),
]


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize(("name", "settings", "options"), CASES)
def test_the_same_bits_in_all_kinds_of_scenes(
    name: str, settings: dict[str, Any], options: LaneOptions | None, precision: Any
) -> None:
    made = {
        scene: EnvFactory(
            name, settings, scene=scene, precision=precision, options=options, **FAST
        )
        for scene in ("shared", "independent")
    }
    vectors: list[Any] = [
        SyncVectorEnv([lambda i=i, make=make: make(i) for i in range(3)])
        for make in made.values()
    ]
    vectors.append(made["shared"].batch(3))
    assert_same([trace(vector, 8) for vector in vectors])
    for vector in vectors:
        vector.close()
