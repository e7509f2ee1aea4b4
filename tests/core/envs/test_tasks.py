"""The tasks: their numbers, their spaces, and what Gymnasium says of them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from isoscope.core.envs.errors import TaskError
from isoscope.core.envs.quantities import Layout, Quantity
from isoscope.core.envs.tasks.registry import TASKS, make_task
from isoscope.core.envs.timing import Timing
from isoscope.core.errors import UsageError
from tests.core.envs.making import batch, env, rails


@pytest.mark.parametrize("scene", ["shared", "independent"])
@pytest.mark.parametrize("name", TASKS)
def test_gymnasium_finds_nothing_wrong(name: str, scene: str) -> None:
    with warnings.catch_warnings():
        # advice on bounds; these are SuperDex Lab's: observations have none, actions ±3
        warnings.filterwarnings("ignore", message=".*(normalized space|infinity).*")
        check_env(env(name, scene=scene), skip_render_check=True)


@pytest.mark.parametrize("name", TASKS)
def test_a_batch_is_like_its_single_environments(name: str) -> None:
    many, alone = batch(name, n=3), env(name)
    assert many.single_action_space == alone.action_space
    assert many.single_observation_space == alone.observation_space
    many.action_space.seed(1)
    many.reset(seed=1)
    for _ in range(3):
        observation, *_ = many.step(many.action_space.sample())
        assert observation in many.observation_space


@pytest.mark.parametrize("name", TASKS)
def test_every_number_has_a_name_and_a_unit(name: str) -> None:
    task = make_task(name)
    for layout in (task.observation, task.action):
        assert len(layout.labels) == len(layout.units) == layout.size
        assert list(layout.names) == sorted(layout.names)
        assert all(layout.units)


def test_the_numbers_of_the_recordings_and_of_the_lab() -> None:
    one, lab = make_task("CartPole"), make_task("CartPoleLab")
    for task in (one, lab):
        assert (task.timing.control_hz, task.timing.simulation_hz) == (25, 50)
        assert (task.timing.substeps, task.timing.h_s) == (2, 0.02)
        assert task.action.low.tolist() == [-3.0]
        assert task.integrator == "backward_euler"
    assert {d.position for d in one.noise.dofs} == {0.05}
    assert {d.position for d in lab.noise.dofs} == {0.1}
    for task, newtons in (("CartPole", 10.0), ("CartPoleLab", 100.0)):
        made = env(task)
        made.reset(seed=1)
        made.step(np.array([2.0], np.float32))
        assert rails(made)._f[0].tolist() == [[2.0 * newtons, 0.0]]


def test_the_lab_can_turn_the_pole_instead() -> None:
    made = env("CartPoleLab", actuate_pole=True)
    made.reset(seed=1)
    made.step(np.array([-1.0], np.float32))
    assert rails(made)._f[0].tolist() == [[0.0, -100.0]]


def test_upright_is_up_to_the_angle_and_with_it() -> None:
    task: Any = make_task("CartPole")
    made = env()
    view = made.lanes.view
    for angle, upright in ((0.2, 1.0), (-0.2, 1.0), (0.20001, 0.0), (-1.0, 0.0)):
        seen = task.observation.structure(np.array([[0, 0, 0, angle]], np.float32))
        # float32's 0.2 is a little more than 0.2 and yet what 0.2 rad is seen as
        seen["vertical_ang"] = seen["vertical_ang"].astype(np.float32)
        assert task.rewards(view, {}, seen)["upright_reward"][0] == upright
        stop = task.terminations(view, seen)
        assert bool(next(iter(stop.values()))[0]) == (upright == 0.0)


def test_a_target_is_drawn_for_each_episode_and_seen() -> None:
    made = env("Pusher")
    targets = []
    for _ in range(3):
        observation, info = made.reset()
        seen = made.task.observation.structure(observation[None])["target"][0]
        drawn = [info["draws"]["target_x"], info["draws"]["target_z"]]
        assert seen == pytest.approx(drawn, abs=1e-6)
        targets.append(tuple(seen.tolist()))
    assert len(set(targets)) == 3


def test_unknown_tasks_and_settings_are_refused_with_what_there_is() -> None:
    with pytest.raises(TaskError, match="there are CartPole"):
        make_task("Cartpole")
    with pytest.raises(TaskError, match=r"no setting colour.*max_steps"):
        make_task("CartPole", colour="red")


def test_a_model_that_is_another_is_refused() -> None:
    made = env("DoublePendulumRail")
    with pytest.raises(TaskError, match="must be a cart with a pole"):
        make_task("CartPole").bind(made.scene)


@pytest.mark.parametrize("numbers", [(25, 60), (0, 50), (50, 25), (25, 50, 0)])
def test_frequencies_must_divide(numbers: tuple[int, ...]) -> None:
    with pytest.raises(UsageError, match="setting up an environment"):
        Timing(*numbers)


def test_a_layout_says_what_does_not_fit() -> None:
    layout = Layout((Quantity("b", "m", size=2), Quantity("a", "m")))
    assert layout.labels == ("a", "b[0]", "b[1]")
    zeros = np.zeros((1, 2))
    with pytest.raises(TaskError, match="expected"):
        layout.flatten({"a": zeros}, np)
    with pytest.raises(TaskError, match="2 numbers instead of 1"):
        layout.flatten({"a": zeros, "b": zeros}, np)
    with pytest.raises(TaskError, match="twice"):
        Layout((Quantity("a", "m"), Quantity("a", "m")))
    flat = layout.flatten({"b": zeros + 1, "a": zeros[:, :1]}, np)
    assert flat.tolist() == [[0.0, 1.0, 1.0]]


def test_the_action_space_is_seeded_from_a_stream_of_its_own() -> None:
    samples = []
    for seed in (1, 1, 2):
        made = env(seed=seed)
        made.seed_action_space()
        samples.append(float(made.action_space.sample()[0]))
    assert samples[0] == samples[1] != samples[2]
