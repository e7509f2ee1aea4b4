"""Frames and recording controls: numbered cases, and what is refused (H14 to H16)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from isoscope.core.errors import IsoscopeError
from isoscope.core.trajectory.errors import (
    TrajectoryRuntimeError,
    TrajectoryTypeError,
    TrajectoryValueError,
)
from isoscope.core.trajectory.lerobot import (
    LeRobotEpisodeAccumulator,
    LeRobotFrame,
    LeRobotOptions,
    executed_mask,
)
from isoscope.core.trajectory.lerobot.options import Images, MissingState, Pairing

PICK = {"states": np.zeros(2), "task_descriptions": ["pick"]}
LEGACY = LeRobotOptions(pairing=Pairing.LEGACY)
F, T = False, True


def episodes(
    steps: list[tuple[float, float, bool, bool, dict[str, Any]]], **given: Any
) -> list[list[dict[str, Any]]]:
    """Chunks of one step: observed after, action, terminated, truncated, info."""
    made = LeRobotEpisodeAccumulator(action_dim=1, options=LEGACY, **given)
    for state, action, terminated, truncated, info in steps:
        made.append(
            chunk_actions=torch.tensor([[[action]]]),
            obs_list=[{"states": torch.tensor([[state]]), "task_descriptions": ["t"]}],
            terminations=torch.tensor([[terminated]]),
            truncations=torch.tensor([[truncated]]),
            infos_list=[info],
        )
    return made.drain()


def test_20_the_experts_action_is_recorded() -> None:
    made = LeRobotEpisodeAccumulator(action_dim=2)
    made.append(
        obs={"states": torch.zeros(1, 1), "task_descriptions": ["t"]},
        chunk_actions=torch.tensor([[[1.0, 2.0]]]),
        obs_list=[{"states": torch.zeros(1, 1), "task_descriptions": ["t"]}],
        terminations=torch.tensor([[True]]),
        truncations=torch.tensor([[False]]),
        infos_list=[
            {
                "intervene_action": torch.tensor([[9.0, 8.0]]),
                "intervene_flag": torch.tensor([True]),
            }
        ],
    )
    ((frame,),) = made.drain()
    assert frame["actions"].tolist() == [9, 8]
    assert frame["intervene_flag"].tolist() == [True]


def test_21_an_automatic_resets_observation_is_the_next_episodes_first() -> None:
    final = {"final_observation": {"states": torch.tensor([[10.0]])}}
    final["final_observation"]["task_descriptions"] = ["t"]
    first, second = episodes(
        [
            (100.0, 1.0, T, F, {**final, "final_info": {"success": torch.tensor([T])}}),
            (20.0, 2.0, T, F, {}),
        ]
    )
    assert first[0]["state"].tolist() == [10]
    assert first[0]["is_success"].tolist() == [True]
    assert second[0]["state"].tolist() == [100]


def test_22_only_successful_terminated_episodes_are_kept() -> None:
    success = {"success": torch.tensor([True])}
    steps = [(1.0, 1.0, T, F, {}), (2.0, 2.0, F, T, success), (3.0, 3.0, T, F, success)]
    (episode,) = episodes(steps, only_success=True)
    assert episode[-1]["state"].tolist() == [3]
    assert episode[-1]["done"].tolist() == episode[-1]["is_success"].tolist() == [True]


def test_23_a_chunk_of_two_environments_gives_an_episode_each() -> None:
    made = LeRobotEpisodeAccumulator(2, num_action_chunks=2, action_dim=1)
    seen = {"states": torch.zeros(2, 1), "task_descriptions": ["a", "b"]}
    made.append(
        obs=seen,
        chunk_actions=torch.tensor([[1.0, 2.0], [3.0, 4.0]]),
        obs_list=[seen, seen],
        terminations=torch.tensor([[F, T], [F, T]]),
        truncations=torch.zeros(2, 2, dtype=torch.bool),
        infos_list=[{}, {}],
    )
    found = [[f["actions"].tolist()[0] for f in episode] for episode in made.drain()]
    assert found == [[1, 2], [3, 4]]


def test_25_recording_controls() -> None:
    (episode,) = episodes(
        [
            (10.0, 1.0, F, F, {"record_reset": True}),
            (20.0, 2.0, F, F, {"pre_record": True}),
            (30.0, 3.0, T, F, {"segment_advance": True}),
        ]
    )
    (frame,) = episode
    assert frame["state"].tolist() == [10]
    assert frame["actions"].tolist() == [3]
    assert frame["segment_id"].tolist() == [1]


def test_26_27_frames_from_what_a_step_reports() -> None:
    """The offline exporter builds its frames by the same call."""
    frame = LeRobotFrame.from_step(
        observation={
            "states": torch.ones(2),
            "main_images": torch.full((2, 2, 3), 0.5),
            "wrist_images": torch.zeros(2, 2, 2, 3, dtype=torch.uint8),
            "task_descriptions": ["pick"],
        },
        action=[1.0, 2.0],
        info={"intervene_action": torch.tensor([9.0, 8.0]), "intervene_flag": True},
        segment_id=4,
        action_dim=2,
        options=LeRobotOptions(images=Images.SCALE),
    )
    assert frame is not None
    written = frame.to_dict(episode_success=True, done=True)
    assert written["image"].dtype == np.uint8
    assert written["image"].max() == 127
    assert {"wrist_image-0", "wrist_image-1"} <= set(written)
    assert written["task"] == "pick"
    assert written["actions"].tolist() == [9, 8]
    assert written["segment_id"].tolist() == [4]
    assert written["done"].tolist() == [True]


@pytest.mark.parametrize("count", [-1, 5])
def test_m4_counts_of_executed_actions(count: int) -> None:
    assert executed_mask([2, 4, None, 0], 4).tolist() == [
        [T, T, F, F],
        [T, T, T, T],
        [T, T, T, T],
        [F, F, F, F],
    ]
    with pytest.raises(TrajectoryRuntimeError, match="0 to 4"):
        executed_mask([2, count], 4)


@pytest.mark.parametrize(
    ("observation", "names"),
    [
        ({"task_descriptions": ["pick"]}, "states"),
        ({**PICK, "states": None, "state": np.zeros(2)}, "states"),
        (None, "states"),
        ({"states": np.zeros(2)}, "missing_task"),
        ({**PICK, "task_descriptions": None}, "missing_task"),
        ({**PICK, "task_descriptions": []}, "missing_task"),
        ({**PICK, "main_images": np.zeros((2, 2, 3), np.float32)}, "main_images"),
        ({**PICK, "wrist_images": np.zeros((2, 2, 2, 3), np.int64)}, "wrist_images"),
        ({**PICK, "main_images": np.zeros((1, 2, 2, 3), np.uint8)}, "main_images"),
        ({**PICK, "main_images": np.zeros((0, 2, 3), np.uint8)}, "empty"),
    ],
)
def test_h14_to_h16_what_would_be_a_guess_is_refused(
    observation: Any, names: str
) -> None:
    with pytest.raises(TrajectoryValueError, match=names) as caught:
        LeRobotFrame.from_values(observation=observation, action=np.zeros(1))
    assert isinstance(caught.value, IsoscopeError)


def test_h14_an_image_out_of_range_is_refused_even_when_scaled() -> None:
    for worst in (-0.5, 256.0, float("nan")):
        picture = np.full((1, 1, 3), worst, np.float32)
        with pytest.raises(TrajectoryValueError, match="main_images"):
            LeRobotFrame.from_values(
                observation={**PICK, "main_images": picture},
                action=np.zeros(1),
                options=LeRobotOptions(images=Images.SCALE),
            )


def test_options_say_what_to_record_instead() -> None:
    options = LeRobotOptions(missing_task="any", missing_state=MissingState.DROP)
    frame = LeRobotFrame.from_values(
        observation={"states": np.zeros(2)}, action=np.zeros(1), options=options
    )
    assert frame is not None
    assert frame.task == "any"
    assert LeRobotFrame.from_values(observation={}, action=[1], options=options) is None


def test_options_are_read_by_name_and_unknown_ones_refused() -> None:
    def cfg(**given: Any) -> Any:
        return {"algorithm": {"dagger": {"online_lerobot": given}}}

    assert LeRobotOptions.from_cfg({}) == LeRobotOptions()
    assert LeRobotOptions.from_cfg(cfg(compatibility="rlinf")) == LeRobotOptions.rlinf()
    mixed = LeRobotOptions.from_cfg(cfg(compatibility="rlinf", pairing="pairs"))
    assert mixed.pairing is Pairing.PAIRS
    assert mixed.images is Images.SCALE
    for wrong in ({"pairing": "lagged"}, {"images": "auto"}, {"compatibility": "new"}):
        with pytest.raises(TrajectoryValueError, match=next(iter(wrong))):
            LeRobotOptions.from_cfg(cfg(**wrong))


def test_frames_own_their_memory() -> None:
    states, picture = np.zeros(2, np.float32), np.zeros((2, 2, 3), np.uint8)
    action = np.zeros(1, np.float32)
    frame = LeRobotFrame.from_values(
        observation={**PICK, "states": states, "image": picture}, action=action
    )
    assert frame is not None
    for array in (states, picture, action):
        array[...] = 7
    assert not frame.state.any()
    assert not frame.action.any()
    assert not frame.images["image"].any()


def test_actions_that_are_not_one_of_the_policys_width_are_refused() -> None:
    for action, info in (
        ([1.0, 2.0, 3.0], {}),
        ([1.0, 2.0], {"intervene_action": [9.0], "intervene_flag": True}),
        ([1.0, 2.0], {"intervene_action": [9.0, 8.0, 7.0], "intervene_flag": True}),
    ):
        with pytest.raises(TrajectoryValueError, match="action"):
            LeRobotFrame.from_step(
                observation=PICK, action=action, info=info, action_dim=2
            )


@pytest.mark.parametrize(
    ("odd", "named"),
    [
        ({"states": "abc"}, "the state is <U3"),
        ({"main_images": np.full((2, 2, 3), "abc")}, "main_images is <U3"),
    ],
)
def test_what_is_no_number_is_refused(odd: dict[str, Any], named: str) -> None:
    with pytest.raises(TrajectoryTypeError, match=named):
        LeRobotFrame.from_values(observation={**PICK, **odd}, action=np.zeros(1))
